"""Dialects of OpenAI's chat completions: how other servers differ, as data."""
