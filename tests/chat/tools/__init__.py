"""The chat's tools."""
