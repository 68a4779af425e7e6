"""The official SDKs against a live server."""
