"""What several processes share through Redis."""
