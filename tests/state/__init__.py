"""Tests of scenarios as rows, of the catalog, of the journal and of loading."""
