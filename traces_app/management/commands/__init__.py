"""Commands of the traces."""
