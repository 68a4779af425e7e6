"""Migrations, made by `makemigrations`."""
