"""Requests that are forwarded to an upstream and recorded."""
