"""`prune` and its like."""
