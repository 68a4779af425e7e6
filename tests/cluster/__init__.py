"""Tests of state that several processes share through Redis, and of the lease on a database."""
