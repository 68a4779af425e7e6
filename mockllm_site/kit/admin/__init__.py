"""Base classes of the admin's pages, shared by all apps."""
