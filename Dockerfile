# One image for every process; docker-compose.yml and the Procfile say which command each runs.

FROM python:3.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --require-hashes -r requirements.txt

FROM python:3.13-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin app
WORKDIR /app
RUN mkdir var && chown app var
COPY --from=build /venv /venv
COPY . .
USER app
EXPOSE 8000
# The exec form: the program itself is PID 1 and gets the SIGTERM of `docker stop`.
CMD ["gunicorn", "--config", "config/gunicorn.py", "app:create_app()"]
