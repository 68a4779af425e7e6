"""Scripted users against an agent: one conversation with all three sides, and its reports."""
