"""Requests passed on upstream and kept."""
