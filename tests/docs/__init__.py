"""Tests of README and docs/: run their blocks, check their links, tables and examples."""
