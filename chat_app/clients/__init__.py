"""Clients of the providers: official SDKs behind one small interface."""

from chat_app.clients.registry import get_client

__all__ = ["get_client"]
