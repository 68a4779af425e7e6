"""A real browser."""
