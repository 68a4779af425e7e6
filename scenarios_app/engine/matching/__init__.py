"""From a request to the steps that match it."""
