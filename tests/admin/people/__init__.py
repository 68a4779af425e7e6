"""People, roles and accounts in the admin."""
