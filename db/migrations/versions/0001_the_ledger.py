"""The ledger, its dead letters and keys, the domain's tables, and an audit log that cannot be rewritten."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from db.types import ID, Instant

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_APPEND_ONLY = {
    "postgresql": (
        """CREATE FUNCTION refuse_to_rewrite() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
        """CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
        FOR EACH ROW EXECUTE FUNCTION refuse_to_rewrite()""",
    ),
    "sqlite": tuple(
        f"""CREATE TRIGGER audit_log_no_{verb.lower()} BEFORE {verb} ON audit_log
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"""
        for verb in ("UPDATE", "DELETE")
    ),
}


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "api_tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.String(length=200), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("revoked_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("name", name=op.f("uq_api_tokens_name")),
        sa.UniqueConstraint("sha256", name=op.f("uq_api_tokens_sha256")),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=80), nullable=False),
        sa.Column(
            "details",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(op.f("ix_audit_log_target"), "audit_log", ["target"], unique=False)
    op.create_table(
        "batches",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("created_by", sa.String(length=80), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_table(
        "email_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("template", sa.String(length=60), nullable=False),
        sa.Column("to_email", sa.String(length=320), nullable=False),
        sa.Column("to_name", sa.String(length=300), nullable=False),
        sa.Column("reply_to_email", sa.String(length=320), nullable=True),
        sa.Column("reply_to_name", sa.String(length=300), nullable=False),
        sa.Column(
            "context",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=False,
        ),
        sa.Column("created_by", sa.String(length=80), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_email_deliveries")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("job_id", ID, nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column(
            "receipt",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=True,
        ),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "state IN ('reserved','started','done','unknown')", name=op.f("ck_idempotency_keys_state")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_expires_at"), "idempotency_keys", ["expires_at"], unique=False)
    op.create_index(op.f("ix_idempotency_keys_job_id"), "idempotency_keys", ["job_id"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", ID, nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("queue", sa.String(length=40), nullable=False),
        sa.Column("priority", sa.String(length=6), nullable=False),
        sa.Column(
            "payload",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=False,
        ),
        sa.Column("payload_version", sa.SmallInteger(), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("due_at", Instant(), nullable=True),
        sa.Column("published_at", Instant(), nullable=True),
        sa.Column("worker", sa.String(length=120), nullable=True),
        sa.Column("lease_token", sa.String(length=32), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("failures", sa.SmallInteger(), nullable=False),
        sa.Column("losses", sa.SmallInteger(), nullable=False),
        sa.Column("progress", sa.SmallInteger(), nullable=True),
        sa.Column("cancel_requested_at", Instant(), nullable=True),
        sa.Column(
            "result",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=True,
        ),
        sa.Column("error_code", sa.String(length=80), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("batch_id", ID, nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.String(length=80), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("started_at", Instant(), nullable=True),
        sa.Column("finished_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "(due_at IS NULL) = (state IN ('succeeded','dead','cancelled'))",
            name=op.f("ck_jobs_unfinished_has_due_at"),
        ),
        sa.CheckConstraint(
            "(lease_token IS NULL) = (state <> 'running')", name=op.f("ck_jobs_running_has_lease")
        ),
        sa.CheckConstraint("priority IN ('high','normal','low')", name=op.f("ck_jobs_priority")),
        sa.CheckConstraint(
            "state IN ('queued','waiting','running','succeeded','dead','cancelled')",
            name=op.f("ck_jobs_state"),
        ),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_jobs_batch_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(
        "ix_jobs_batch",
        "jobs",
        ["batch_id", "position"],
        unique=False,
        sqlite_where=sa.text("batch_id IS NOT NULL"),
        postgresql_where=sa.text("batch_id IS NOT NULL"),
    )
    op.create_index("ix_jobs_created_by", "jobs", ["created_by", "id"], unique=False)
    op.create_index(
        "ix_jobs_due",
        "jobs",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index("ix_jobs_type", "jobs", ["type", "id"], unique=False)
    op.create_index(
        "ix_jobs_unfinished",
        "jobs",
        ["queue", "state", "published_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_unsuccessful",
        "jobs",
        ["state", "id"],
        unique=False,
        sqlite_where=sa.text("error_code IS NOT NULL"),
        postgresql_where=sa.text("error_code IS NOT NULL"),
    )
    op.create_table(
        "attempts",
        sa.Column("id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column("worker", sa.String(length=120), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("error_code", sa.String(length=80), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.Column("started_at", Instant(), nullable=True),
        sa.Column("ended_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_job_id"), "attempts", ["job_id"], unique=False)
    op.create_table(
        "dead_letters",
        sa.Column("id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=True),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("queue", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("error_code", sa.String(length=80), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.Column("shown", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("resolution", sa.String(length=20), nullable=True),
        sa.Column("resolved_at", Instant(), nullable=True),
        sa.Column("resolved_by", sa.String(length=80), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "resolution IS NULL OR resolution IN ('replayed','discarded','happened','superseded')",
            name=op.f("ck_dead_letters_resolution"),
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_dead_letters_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
    )
    op.create_index(op.f("ix_dead_letters_fingerprint"), "dead_letters", ["fingerprint"], unique=False)
    op.create_index(op.f("ix_dead_letters_job_id"), "dead_letters", ["job_id"], unique=False)
    op.create_index("ix_dead_letters_open", "dead_letters", ["resolution", "id"], unique=False)
    op.create_table(
        "stored_files",
        sa.Column("id", ID, nullable=False),
        sa.Column("storage_key", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("job_id", ID, nullable=True),
        sa.Column("created_by", sa.String(length=80), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_stored_files_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stored_files")),
        sa.UniqueConstraint("storage_key", name=op.f("uq_stored_files_storage_key")),
    )
    op.create_index(op.f("ix_stored_files_job_id"), "stored_files", ["job_id"], unique=False)
    op.create_table(
        "analyses",
        sa.Column("id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("file_id", ID, nullable=False),
        sa.Column("analysis", sa.String(length=20), nullable=False),
        sa.Column("engine", sa.String(length=20), nullable=False),
        sa.Column("model", sa.String(length=80), nullable=False),
        sa.Column(
            "answer",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=False,
        ),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Numeric(precision=12, scale=6), nullable=False),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["stored_files.id"], name=op.f("fk_analyses_file_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_analyses_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_analyses")),
        sa.UniqueConstraint("job_id", name=op.f("uq_analyses_job_id")),
    )
    op.create_index(op.f("ix_analyses_file_id"), "analyses", ["file_id"], unique=False)
    for statement in _APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)


def downgrade() -> None:
    """Undo."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER audit_log_append_only ON audit_log")
        op.execute("DROP FUNCTION refuse_to_rewrite()")
    op.drop_index(op.f("ix_analyses_file_id"), table_name="analyses")
    op.drop_table("analyses")
    op.drop_index(op.f("ix_stored_files_job_id"), table_name="stored_files")
    op.drop_table("stored_files")
    op.drop_index("ix_dead_letters_open", table_name="dead_letters")
    op.drop_index(op.f("ix_dead_letters_job_id"), table_name="dead_letters")
    op.drop_index(op.f("ix_dead_letters_fingerprint"), table_name="dead_letters")
    op.drop_table("dead_letters")
    op.drop_index(op.f("ix_attempts_job_id"), table_name="attempts")
    op.drop_table("attempts")
    op.drop_index(
        "ix_jobs_unsuccessful",
        table_name="jobs",
        sqlite_where=sa.text("error_code IS NOT NULL"),
        postgresql_where=sa.text("error_code IS NOT NULL"),
    )
    op.drop_index(
        "ix_jobs_unfinished",
        table_name="jobs",
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.drop_index("ix_jobs_type", table_name="jobs")
    op.drop_index(
        "ix_jobs_due",
        table_name="jobs",
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.drop_index("ix_jobs_created_by", table_name="jobs")
    op.drop_index("ix_jobs_batch", table_name="jobs")
    op.drop_table("jobs")
    op.drop_index(op.f("ix_idempotency_keys_job_id"), table_name="idempotency_keys")
    op.drop_index(op.f("ix_idempotency_keys_expires_at"), table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
    op.drop_table("email_deliveries")
    op.drop_table("batches")
    op.drop_index(op.f("ix_audit_log_target"), table_name="audit_log")
    op.drop_table("audit_log")
    op.drop_table("api_tokens")
