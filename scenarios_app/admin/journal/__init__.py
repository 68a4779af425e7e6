"""The journal and sessions in the admin."""
