"""The page *Test*: dry runs of one request, of a conversation, and of a scripted user."""
