"""What several processes share through Redis, and who may share it."""
