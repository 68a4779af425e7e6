"""The chat's service."""
