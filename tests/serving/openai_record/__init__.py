"""OpenAI's wires and dialects compared with real answers of the providers."""
