"""Recorded turns of the Responses API."""
