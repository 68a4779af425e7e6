"""Gemini's wire."""
