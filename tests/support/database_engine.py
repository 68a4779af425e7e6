"""The database engine of the suite: SQLite in memory, or PostgreSQL if TEST_DATABASE is
`postgres`."""

import os

import pytest

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/test")
ON_POSTGRES = os.environ.get("TEST_DATABASE") == "postgres"

on_sqlite = pytest.mark.skipif(ON_POSTGRES, reason="tests SQLite in memory")
