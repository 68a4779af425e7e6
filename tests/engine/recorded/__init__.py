"""Tests of comparing requests with recordings, and of replayed answers."""
