"""Every feature on every wire through its SDK."""
