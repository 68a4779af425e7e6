"""`serve` as a process of its own."""
