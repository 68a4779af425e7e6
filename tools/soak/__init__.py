"""Long tests of servers that share their state."""
