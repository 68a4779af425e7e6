"""Forms of all pages."""
