"""`GET /files/<id>`: results and originals, for whoever may see them, by token or by session."""

from flask import Blueprint, Response, request, send_file

from app.reading.files import find_file, may_be_shown, open_file
from app.security import any_viewer

files = Blueprint("files", __name__)


@files.get("/files/<file_id>")
def download(file_id: str) -> Response:
    """A result in its own type, an original only as an attachment. `?download` makes any an attachment."""
    file = find_file(file_id, any_viewer())
    shown = may_be_shown(file)
    response = send_file(
        open_file(file),
        mimetype=file.media_type if shown else "application/octet-stream",
        as_attachment=not shown or "download" in request.args,
        download_name=file.name,
        conditional=False,
        etag=False,
    )
    response.content_length = file.size
    response.set_etag(file.sha256)
    response.cache_control.private = True
    response.cache_control.max_age = 3600
    # Whatever a browser makes of the content, it may run nothing and belongs to no origin.
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.make_conditional(request)
    return response
