"""Tests of *Try it* and related pages."""
