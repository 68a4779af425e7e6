"""Judges clients and scenarios by the requests and responses in the journal; does no I/O."""
