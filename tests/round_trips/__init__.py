"""Documents survive round trips through the admin, files and APIs unchanged."""
