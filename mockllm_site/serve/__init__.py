"""The server process: sockets, limits, database, lease, start and shutdown."""
