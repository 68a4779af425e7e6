"""Tests of scenario documents and of their compilation."""
