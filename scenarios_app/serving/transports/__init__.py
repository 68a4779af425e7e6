"""Transports of the pipeline: uvicorn's protocol, ASGI and Django."""
