"""The page on which a request is tried."""
