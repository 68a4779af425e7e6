"""Tests of conditions on requests."""
