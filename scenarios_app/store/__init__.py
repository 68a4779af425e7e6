"""Scenario documents as rows: read, written, exported, drafted."""
