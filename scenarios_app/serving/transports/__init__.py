"""The ways into the pipeline: ASGI, Django, and transports of clients."""
