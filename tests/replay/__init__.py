"""Recordings replayed over a real server: `python -m tests.replay PATH…`."""
