"""Traces over HTTP."""
