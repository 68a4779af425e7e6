"""The chat over HTTP: messages in, events out, and what is kept of both."""
