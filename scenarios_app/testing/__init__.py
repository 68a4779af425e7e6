"""The server in tests of others."""
