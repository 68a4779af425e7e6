"""Clients from npm against a server."""
