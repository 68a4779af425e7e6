"""The page that tries a request."""
