"""Recordings: what is made of them, and of which files."""
