"""Tests of values generated for JSON Schemas."""
