"""Answers that are rendered from cached templates."""
