"""Clients from npm, which ask a server of their own."""
