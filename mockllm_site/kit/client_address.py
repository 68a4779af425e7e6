"""The client's address behind trusted proxies, and how long wrong passwords lock a login."""

from collections.abc import Iterable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from mockllm_site.kit.addresses import parse_ip_address
from mockllm_site.kit.api.locality import was_forwarded

LOCK_TIME: Final = timedelta(minutes=15)
# Behind an untrusted proxy all clients share one address, so a long lock would lock out all.
SHARED_LOCK_TIME: Final = timedelta(minutes=1)


def client_address(request: HttpRequest) -> str:
    """Return the IP address of a request's client: the peer's, or behind a proxy in
    MOCKLLM_TRUSTED_PROXIES the last entry of `X-Forwarded-For` that is no trusted proxy (clients
    can forge the entries before it)."""
    peer = str(request.META.get("REMOTE_ADDR") or "")
    trusted: tuple[IPv4Network | IPv6Network, ...] = settings.MOCKLLM_TRUSTED_PROXIES
    if not _is_in(peer, trusted):
        return peer
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    for entry in reversed([part.strip() for part in forwarded.split(",")]):
        if parse_ip_address(entry) is None:
            break
        if not _is_in(entry, trusted):
            return entry
    return peer


def cool_off(request: HttpRequest | None = None) -> timedelta:
    """Return how long a name and address are locked after ten wrong passwords: 15 minutes, or 1
    behind a proxy that is not trusted."""
    if request is None:
        return LOCK_TIME
    peer = str(request.META.get("REMOTE_ADDR") or "")
    is_shared = was_forwarded(request.META) and client_address(request) == peer
    return SHARED_LOCK_TIME if is_shared else LOCK_TIME


def _is_in(text: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return True if the text is an IP address, also an IPv4-mapped one, in one of the networks."""
    address = parse_ip_address(text)
    address = getattr(address, "ipv4_mapped", None) or address
    return address is not None and any(address in network for network in networks)
