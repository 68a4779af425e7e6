"""What exists only for speed, without a server."""
