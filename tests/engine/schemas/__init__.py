"""Tests of values made for JSON Schemas."""
