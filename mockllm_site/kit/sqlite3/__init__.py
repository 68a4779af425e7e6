"""The database backend of SQLite files."""
