"""Settings, entry points, packaging."""
