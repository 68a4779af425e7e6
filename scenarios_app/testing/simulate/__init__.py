"""`mockllm simulate`: the agents that a scripted user can talk to, and the command."""
