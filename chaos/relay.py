"""A relay that knows this run's own jobs as well: `python -m chaos.relay`."""

import chaos.jobs  # noqa: F401  # declares them
from config.logging import configure_logging
from config.settings import get_settings
from tasks.engine.relay import run_relay

if __name__ == "__main__":
    configure_logging(get_settings())
    run_relay()
