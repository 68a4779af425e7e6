"""Tests of answers and their pacing."""
