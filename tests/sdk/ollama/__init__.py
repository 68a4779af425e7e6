"""Ollama's SDK."""
