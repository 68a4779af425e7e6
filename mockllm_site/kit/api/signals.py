"""Signals of the control and chat APIs to the site which runs them."""

from django.dispatch import Signal

# Sent before the first call of an API. Without a server nothing has prepared the database.
first_call = Signal()
