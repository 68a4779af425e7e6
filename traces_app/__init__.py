"""Traces: what happened in a run, recorded as it happens."""
