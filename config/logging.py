"""Logs: events with fields, readable in development, JSON lines in production. Ids go in, contents do not."""

import logging
import sys

import structlog

from config.settings import Settings


def configure_logging(settings: Settings) -> None:
    """Send every log line of this process, our own and the libraries', through one formatter to stderr."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    production = settings.app_env == "production"
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if production
        # Values are shown by repr, so a line break that somebody typed cannot start a line of its own.
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            # The prettier formatters print the values of local variables: addresses, texts, keys.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *([structlog.processors.format_exc_info] if production else []),
                renderer,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=settings.log_level, force=True)
    # It introduces itself at every look at the schema's version, which /readyz takes every few seconds.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    for talkative in ("anthropic", "httpx2", "httpcore2", "urllib3", "botocore", "PIL", "asyncio"):
        # At DEBUG these write whole requests, documents included.
        logging.getLogger(talkative).setLevel(max(logging.INFO, logging.getLevelName(settings.log_level)))
    for chatty in ("celery.worker.strategy", "celery.app.trace"):
        # A line for each message received and one for each done: the ledger tells more, and they cost the
        # worker's parent process, which everything passes through, a sixth of its throughput.
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.log_level)),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
