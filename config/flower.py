"""Flower's options: `celery -A tasks flower --conf=config/flower.py`. Flower takes this file's names as its own.

Credentials come from FLOWER_BASIC_AUTH, never from the command line, which every user of a machine can read.
"""

from flower.urls import handlers
from flower.views.monitor import Metrics

from config.settings import get_settings

_settings = get_settings()

if _settings.flower_basic_auth is None or ":" not in _settings.flower_basic_auth.get_secret_value():
    raise SystemExit("Flower does not start without a login: set FLOWER_BASIC_AUTH=name:password")

basic_auth = [_settings.flower_basic_auth.get_secret_value()]
address = _settings.flower_address
port = _settings.flower_port

# Flower shows; operators act in the console, where each action is checked against the ledger and recorded.
read_only = True

# Each remembered task costs about 2 kB; the ledger keeps the full history.
max_tasks = 5_000

# Flower would give /metrics to anybody. Ours are the web server's; only /healthcheck ("OK") stays open.
handlers.remove(("/metrics", Metrics))
