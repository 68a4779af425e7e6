"""What the chat's parts hand each other: pure values."""
