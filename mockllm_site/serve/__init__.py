"""The process that `serve` starts: sockets, limits, database, start and end."""
