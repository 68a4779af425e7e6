"""Anthropic's wire."""
