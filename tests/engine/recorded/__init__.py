"""When two requests are the same conversation, and how an answer replays."""
