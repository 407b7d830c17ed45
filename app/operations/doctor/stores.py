"""Checks of the database, the files and the clocks."""

import io
from datetime import timedelta

from app.operations.doctor.finding import Finding, error, ok, unknown, warning
from app.operations.doctor.system import System
from services.storage import FileGone, StorageUnavailable, storage

_SKEW = timedelta(seconds=2)
# Their locks are not what SQLite relies on (sqlite.org/howtocorrupt.html, section 2.1).
_NETWORKED = ("nfs", "cifs", "smb", "fuse.sshfs", "fuse.s3fs", "9p", "glusterfs", "ceph")


def database(system: System) -> Finding:
    """Reached, and with the tables of this release."""
    if system.database is None:
        return error("does not answer", "DATABASE_URL=postgresql://USER:PASSWORD@HOST/NAME, or start it")
    if not system.database.migrated:
        return error("has not the tables of this release", "flask migrate")
    return ok("answers, and is migrated")


def database_file(system: System) -> Finding:
    """SQLite writes beside its file, and needs the locks of a local disk."""
    path = system.database_file
    if path is None:
        return ok("not SQLite")
    if not system.writable(path.parent):
        return error(f"the folder {path.parent} cannot be written", f"chown -R $(id -u) {path.parent}")
    type_ = system.filesystem(path.parent)
    if type_.startswith(_NETWORKED):
        change = "DATABASE_URL=sqlite:////a/folder/on/a/local/disk/app.db, or postgresql://…"
        return error(f"lies on {type_}, whose locks may let two writers in", change)
    return ok("on a local disk that can be written")


def files(_system: System) -> Finding:
    """Written, read and removed again."""
    probe = b"flask doctor"
    try:
        key = storage().save(io.BytesIO(probe), suffix="probe").key
        try:
            with storage().open(key) as stream:
                same = stream.read() == probe
        finally:
            storage().delete(key)
    except (StorageUnavailable, FileGone, OSError, ValueError, ImportError) as fault:
        return error(
            f"a file could not be written, read and removed ({type(fault).__name__})",
            "STORAGE_URL=a folder that this user may write, or s3://BUCKET/PREFIX",
        )
    if not same:
        return error("what was read is not what was written", "STORAGE_URL=another place")
    return ok("a file was written, read and removed")


def clocks(system: System) -> Finding:
    """The database's clock decides about leases; logs and limits go by the others."""
    skews = {"the database": system.database.ahead} if system.database else {}
    if server := system.redis or system.limits_redis:
        skews["Redis"] = server.ahead
    for name, ahead in skews.items():
        if abs(ahead) > _SKEW:
            seconds = f"{abs(ahead).total_seconds():.1f} s {'ahead' if ahead > timedelta() else 'behind'}"
            return warning(f"{name} is {seconds} of this machine", "timedatectl set-ntp true")
    if not skews:
        return unknown("nobody answered to compare with")
    return ok(f"this machine and {' and '.join(skews)} agree")
