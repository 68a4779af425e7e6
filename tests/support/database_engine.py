"""The engine of the suite's own database: SQLite in memory, or PostgreSQL where TEST_DATABASE says
so."""

import os

import pytest

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/test")
ON_POSTGRES = os.environ.get("TEST_DATABASE") == "postgres"

on_sqlite = pytest.mark.skipif(ON_POSTGRES, reason="is about SQLite in memory")
