"""Dialects of OpenAI's chat completions: what those who speak this API say otherwise, as data."""
