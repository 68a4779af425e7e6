"""Plain requests, answered on the short path."""
