"""The chat over HTTP: views, schemas of bodies and queries, event streams, and OpenAPI."""
