"""Anthropic's SDK."""
