"""`serve` in separate processes."""
