"""Fuzzed, broken and oversized input."""
