"""Tests of the stream pipeline."""
