"""What becomes of a provider's events."""
