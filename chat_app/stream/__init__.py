"""From a provider's events to those of a run: pure."""
