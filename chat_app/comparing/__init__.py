"""Comparisons of two answers, and the ranking."""
