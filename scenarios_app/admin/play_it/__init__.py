"""The page that plays a conversation, and the examples that bring one."""
