"""Tests of the engine, which uses no database and no socket."""
