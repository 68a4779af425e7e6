"""What is registered works in a process that has imported nothing for it."""
