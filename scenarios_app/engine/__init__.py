"""The pure core: requests in, timed parts out, with no framework and no I/O."""
