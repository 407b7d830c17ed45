"""The blueprint that every call registers with."""

from flask import Blueprint

from app.reading.jobs import API

api = Blueprint("api", __name__, url_prefix=API)
