"""Forwards requests to the real provider and records the responses."""
