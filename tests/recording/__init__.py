"""Recordings: made, kept, compared, read from other tools, and replayed."""
