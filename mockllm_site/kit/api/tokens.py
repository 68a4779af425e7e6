"""Reads bearer tokens of requests and compares them with configured ones."""

import hmac
import re

from django.http import HttpRequest

_BEARER = re.compile(r"(?i)bearer +(\S+) *")


def bearer_of(request: HttpRequest) -> str | None:
    """Return the bearer token of the Authorization header, or None for another or no header."""
    match = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", ""))
    return match and match[1]


def matches_token(sent: str, token: str) -> bool:
    """Compare a sent token with the configured one in constant time; False if that is empty."""
    # Headers are decoded as Latin-1, whatever their encoding.
    return bool(token) and hmac.compare_digest(sent.encode("latin-1", "replace"), token.encode())
