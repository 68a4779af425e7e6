"""The server in tests of others: plugin, words, commands."""
