"""Recordings of other tools, read as interactions: one module a format."""
