"""The fast layer, without a server."""
