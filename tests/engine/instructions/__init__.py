"""Tests of instruction blocks."""
