"""Google's SDK."""
