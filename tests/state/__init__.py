"""Scenarios as rows, the catalog, the journal, loading."""
