"""OpenAI's SDK."""
