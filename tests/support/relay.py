"""The relay with the scripted jobs declared: `python -m tests.support.relay`."""

import tests.support.jobs  # noqa: F401  # declares them
from config.logging import configure_logging
from config.settings import get_settings
from tasks.engine.relay import run_relay

if __name__ == "__main__":
    configure_logging(get_settings())
    run_relay()
