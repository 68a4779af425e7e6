"""The chat in the admin."""
