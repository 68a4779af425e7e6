"""Each provider's format, without database or socket."""
