"""Bearer tokens: what a request brings, and whether it is the one that was set."""

import hmac
import re

from django.http import HttpRequest

_BEARER = re.compile(r"(?i)bearer +(\S+) *")


def bearer_of(request: HttpRequest) -> str | None:
    """The bearer token of a request, None where it has none."""
    given = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", ""))
    return given and given[1]


def is_token(given: str, token: str) -> bool:
    """Whether a token is this one; where none is set, none is."""
    # Headers come as Latin-1, whatever was meant.
    return bool(token) and hmac.compare_digest(given.encode("latin-1", "replace"), token.encode())
