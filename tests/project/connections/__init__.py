"""HTTP connections of the server: queues, limits, parsing."""
