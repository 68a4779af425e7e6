"""The playground chat: a client of any provider, the mock included."""
