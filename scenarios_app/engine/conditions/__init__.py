"""Conditions on requests: each is one class, from its key in a document to its phrase."""
