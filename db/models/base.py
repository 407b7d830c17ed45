"""What all tables share: the naming of constraints, the id, and how Python types become columns."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import JSON, MetaData, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

from db.types import ID, Instant, new_id, now

Id = Annotated[str, mapped_column(ID, primary_key=True, default=new_id)]
Ref = Annotated[str, mapped_column(ID)]
CreatedAt = Annotated[datetime, mapped_column(Instant, default=now())]
# A Python None is SQL's NULL, not JSON's.
_JSON = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
Json = Annotated[dict[str, Any], mapped_column(_JSON)]
# Who may see a row: `token:<id>` or `session:<id>`.
Submitter = Annotated[str, mapped_column(String(80))]


class Base(DeclarativeBase):
    """The declarative base; its names for constraints are what migrations refer to."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: Instant}  # noqa: RUF012  # SQLAlchemy reads it from the class
