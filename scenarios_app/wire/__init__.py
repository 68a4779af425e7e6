"""One file per provider API: bytes to a request, parts to bytes."""
