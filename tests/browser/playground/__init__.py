"""Tests of the playground in Chromium."""
