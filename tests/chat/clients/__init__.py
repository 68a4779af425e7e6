"""The chat's clients."""
