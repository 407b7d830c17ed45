"""How gunicorn serves the pages and the API: `gunicorn --config config/gunicorn.py 'app:create_app()'`."""

from pathlib import Path

from config.settings import get_settings

_settings = get_settings()
_production = _settings.app_env == "production"

# Development is reached from this machine only; in production a proxy or a container's network is in front.
bind = f"{'0.0.0.0' if _production else '127.0.0.1'}:{_settings.port}"  # noqa: S104  # see above

# A thread per open request: live progress (server-sent events) keeps one for as long as the page is open. A client
# that does not send what it began loses its thread.
worker_class = "config.web_worker.PacedWorker"
workers = _settings.web_concurrency
threads = 32

# Code is loaded once and shared by the forks. Safe because nothing connects at import.
preload_app = True

# On SIGTERM open requests may finish. Development has open progress streams and a person who waits.
graceful_timeout = 20 if _production else 2
keepalive = 5

# Whose X-Forwarded-Proto is believed; FORWARDED_ALLOW_IPS names the proxies.
forwarded_allow_ips = _settings.forwarded_allow_ips

# Workers prove that they live by touching a file; on a container's disk that can block, in memory it cannot.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  # a tmpfs, files are unlinked

# Its remote control is a second door, which nobody here uses.
control_socket_disable = True
