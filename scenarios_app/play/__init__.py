"""Conversations played against scenarios, expected beside got."""
