"""Packaging, releases, and what other projects install: image, action, hooks."""
