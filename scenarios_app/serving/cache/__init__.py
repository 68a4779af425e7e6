"""Caches of parsed requests and of encoded responses, one of each per pipeline."""
