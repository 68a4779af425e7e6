"""Agent frameworks, each in a separate environment, against a server."""
