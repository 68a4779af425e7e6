"""Shared code of the apps; imports none of them."""
