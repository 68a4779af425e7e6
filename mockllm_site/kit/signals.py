"""Signals that apps send to the site which runs them."""

from django.dispatch import Signal

# Sent before the services start at a first request: no server has prepared the database.
services_starting = Signal()
