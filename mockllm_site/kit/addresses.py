"""Decides to which addresses outbound calls may go: public ones, others only if written out."""

from __future__ import annotations

import re
from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import httpx2


class AddressRefused(Exception):
    """A URL or an address that the server must not call; the message says why."""


class Reach(Enum):
    """The class of an IP address. NEVER: link-local (metadata services), carrier-grade NAT,
    multicast, documentation, benchmarks and all reserved ranges."""

    PUBLIC = auto()
    LOOPBACK = auto()
    PRIVATE = auto()
    NEVER = auto()


# IANA's registries of special-purpose addresses. `ipaddress` differs between Python releases.
_LOOPBACK = ("127.0.0.0/8", "::1/128")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
_NEVER = (
    "0.0.0.0/8",
    "100.64.0.0/10",
    "168.63.129.16/32",  # Azure's metadata service, a public address
    "169.254.0.0/16",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "2001::/23",  # Teredo among others
    "2001:db8::/32",
    "2002::/16",  # 6to4
    "3fff::/20",
    "fd00:ec2::/32",  # Amazon's metadata service, a private address
)
# The first network that contains an address counts.
_NETWORKS = tuple(
    (kind, ip_network(text))
    for kind, texts in (
        (Reach.LOOPBACK, _LOOPBACK),
        (Reach.NEVER, _NEVER),
        (Reach.PRIVATE, _PRIVATE),
    )
    for text in texts
)
# All global IPv6 addresses; of the others only loopback and private ones are allowed.
_GLOBAL_6 = IPv6Network("2000::/3")
# IPv4-mapped addresses, and public ones as a NAT64 resolver returns them.
_EMBEDDING = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
# ISATAP: any network, then 0:5efe or 200:5efe, then an IPv4 address.
_ISATAP = 0x5EFE
_ISATAP_MASK = 0xFDFF_FFFF


def parse_ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a host is written as, or None for a host name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def classify_address(address: IPv4Address | IPv6Address) -> Reach:
    """Return the class of an address. An IPv4-mapped or NAT64 one is PUBLIC if its IPv4 address is,
    else NEVER."""
    if any(address in network for network in _EMBEDDING):
        embedded = classify_address(IPv4Address(int(address) & 0xFFFF_FFFF))
        return embedded if embedded is Reach.PUBLIC else Reach.NEVER
    if address.version == 6 and (int(address) >> 32) & _ISATAP_MASK == _ISATAP:
        return Reach.NEVER
    for kind, network in _NETWORKS:
        if address in network:
            return kind
    return Reach.PUBLIC if address.version == 4 or address in _GLOBAL_6 else Reach.NEVER


_PLAIN = re.compile(r"[!-\[\]-~]+")  # visible ASCII except backslash
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9])?")
_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65_535


class Endpoint(NamedTuple):
    """The scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return HOST:PORT, without port 443."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https"] else f"{host}:{self.port}"


def endpoint_at(url: httpx2.URL) -> Endpoint:
    """Return the scheme, host and port of an HTTP(S) URL; without a port, the scheme's default."""
    port = _PORTS[url.scheme] if url.port is None else url.port
    return Endpoint(url.scheme, url.raw_host.decode("ascii"), port)


def is_plain_tls(endpoint: Endpoint) -> bool:
    """Return True for TLS on port 443."""
    return endpoint.scheme == "https" and endpoint.port == _PORTS["https"]


def parse_base_url(base_url: str) -> httpx2.URL:
    """Return the parsed base URL. Raise AddressRefused for another scheme than HTTP(S), spaces, a
    user name, a query, a fragment, or an invalid host or port."""
    # Imported late: most servers send no requests.
    import httpx2

    if not _PLAIN.fullmatch(base_url):
        raise AddressRefused("expected http://HOST[:PORT]/PATH or https://…, without spaces")
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL as error:
        raise AddressRefused(f"cannot be read: {error}") from None
    if url.scheme not in _PORTS:
        raise AddressRefused("expected a URL that begins with http:// or https://")
    if "@" in base_url:
        raise AddressRefused("a user name or password does not belong in it")
    if "?" in base_url or "#" in base_url:
        raise AddressRefused("a query or fragment does not belong in it")
    host = url.raw_host.decode("ascii")
    if not _HOST.fullmatch(host) and not (parse_ip_address(host) and "%" not in host):
        raise AddressRefused("expected a host after http:// or https://")
    if url.port is not None and not 1 <= url.port <= MAX_PORT:
        raise AddressRefused(f"expected a port from 1 to {MAX_PORT}")
    return url


def check_ip_literal(host: str) -> None:
    """Raise AddressRefused if the host is an IP address of class NEVER, not for a host name."""
    if (address := parse_ip_address(host)) and classify_address(address) is Reach.NEVER:
        raise AddressRefused(f"{host} is not an address that calls may be sent to")


def check_resolved_addresses(host: str, addresses: tuple[str, ...]) -> None:
    """Raise AddressRefused if one of the host's addresses is not allowed. Public ones are; private
    and loopback ones only if the host is an IP address itself, loopback ones also for localhost."""
    is_literal = parse_ip_address(host) is not None
    for text in addresses:
        address = parse_ip_address(text)
        match classify_address(address) if address else Reach.NEVER:
            case Reach.PUBLIC:
                continue
            case Reach.LOOPBACK if is_literal or host == "localhost":
                continue
            case Reach.PRIVATE if is_literal:
                continue
        raise AddressRefused(f"{host} is at {text}, to which no calls may be sent")
