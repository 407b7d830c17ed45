"""`/console/audit`: what operators did, newest first. The table itself refuses to be changed."""

from flask import render_template, request
from sqlalchemy import select

from app.console.blueprint import console
from app.reading.visible import is_id
from db.engine import reading
from db.models import AuditEntry

_PER_PAGE = 50


@console.get("/audit")
def audit_log() -> str:
    """50 to a page; `before` is the last id of the page before."""
    before = request.args.get("before", "")
    query = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(_PER_PAGE + 1)
    if is_id(before):
        query = query.where(AuditEntry.id < before)
    with reading() as session:
        found = list(session.scalars(query))
    entries = found[:_PER_PAGE]
    return render_template(
        "console/audit.html",
        entries=entries,
        before=before,
        older=entries[-1].id if len(found) > _PER_PAGE else None,
    )
