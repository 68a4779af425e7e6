"""The base of the control and chat APIs: strict shapes, one error contract, OpenAPI."""
