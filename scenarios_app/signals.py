"""Signals to the site which runs this app."""

from django.dispatch import Signal

# Sent before the services start at a first request: no server has prepared the database.
services_starting = Signal()
