"""Fuzzed, invalid and oversized input."""
