"""Answers and their times."""
