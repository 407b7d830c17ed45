"""The Celery application. Its options are read when they are first needed, not at import."""

from typing import Any

from celery import Celery
from celery.signals import setup_logging

from config.celery import celery_options
from config.logging import configure_logging
from config.settings import get_settings


def _options() -> dict[str, Any]:
    return celery_options(get_settings())


app = Celery("tasks", set_as_current=True)
app.add_defaults(_options)


@setup_logging.connect
def _set_up_logging(**_signal: Any) -> None:
    configure_logging(get_settings())
