"""Agent frameworks, each in an environment of its own, against a server."""
