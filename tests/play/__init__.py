"""Tests of scenarios_app/play."""
