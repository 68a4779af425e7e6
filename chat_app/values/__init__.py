"""Values that the chat's parts exchange: events, model calls, text."""
