"""What all of our own JSON APIs are made of: strict shapes, one error contract, OpenAPI."""
