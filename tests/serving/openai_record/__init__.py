"""Answers of OpenAI and of those who speak its API, beside what providers really said."""
