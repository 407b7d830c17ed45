"""Which databases a test runs on."""

import pytest

# For tests that use the fixture `database`, directly or through another fixture.
on_both_databases = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
