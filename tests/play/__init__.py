"""Conversations that are played."""
