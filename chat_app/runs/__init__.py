"""Runs: accepted, answered, cancelled, ended, stored."""
