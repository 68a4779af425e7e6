"""Tests of *Test* and related pages."""
