"""The pure core, without database or socket."""
