"""Coding agents from npm, run by the guides in docs/agents/ and with the scenarios in examples/."""
