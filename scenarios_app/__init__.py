"""Scenarios and the provider endpoints that play them."""
