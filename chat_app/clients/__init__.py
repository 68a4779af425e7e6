"""Clients of the providers: official SDKs behind one small interface."""
