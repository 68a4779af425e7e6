"""Ollama's wire."""
