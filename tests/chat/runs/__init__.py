"""The chat's runs."""
