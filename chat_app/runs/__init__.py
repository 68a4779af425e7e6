"""Runs: begun, answered, cancelled, ended, stored."""
