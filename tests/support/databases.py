"""Which databases a test runs on."""

import os

import pytest

# Where tests make databases of their own.
POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")

# For tests that use the fixture `database`, directly or through another fixture.
on_both_databases = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
