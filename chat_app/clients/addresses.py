"""What kind of place an IP address is: whether a call may be sent there at all."""

from enum import Enum, auto
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)


class Reach(Enum):
    """NEVER is what no profile has a reason to call: link-local and so metadata services,
    carrier-grade NAT, multicast, documentation, benchmarks, whatever is reserved."""

    PUBLIC = auto()
    LOOPBACK = auto()
    PRIVATE = auto()
    NEVER = auto()


# IANA's registries of special-purpose addresses; `ipaddress` changes its mind between releases.
_PRIVATE = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
_NEVER_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "168.63.129.16/32",  # Azure's metadata service, in the midst of public addresses
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# All that is given out of IPv6; beyond it only loopback and private addresses mean anything here.
_GLOBAL_6 = IPv6Network("2000::/3")
_NEVER_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo among others
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
        "fd00:ec2::/32",  # Amazon's metadata service, in the midst of private addresses
    )
)
_LOOPBACK_4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_6 = IPv6Address("::1")
# IPv4-mapped, and what a NAT64 resolver makes of a public address; no other has a use for either.
_EMBEDDING = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
# ISATAP: any network, then 0:5efe or 200:5efe, then an IPv4 address.
_ISATAP = 0x5EFE
_ISATAP_MASK = 0xFDFF_FFFF


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is written as, if it is one: nothing but the usual forms counts."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def reach(address: IPv4Address | IPv6Address) -> Reach:
    if isinstance(address, IPv6Address):
        return _reach_6(address)
    if address in _LOOPBACK_4:
        return Reach.LOOPBACK
    if any(address in network for network in _NEVER_4):
        return Reach.NEVER
    if any(address in network for network in _PRIVATE):
        return Reach.PRIVATE
    return Reach.PUBLIC


def _reach_6(address: IPv6Address) -> Reach:
    if any(address in network for network in _EMBEDDING):
        embedded = reach(IPv4Address(int(address) & 0xFFFF_FFFF))
        return embedded if embedded is Reach.PUBLIC else Reach.NEVER
    if address == _LOOPBACK_6:
        return Reach.LOOPBACK
    if any(address in network for network in _NEVER_6):
        return Reach.NEVER
    if (int(address) >> 32) & _ISATAP_MASK == _ISATAP:
        return Reach.NEVER
    if any(address in network for network in _PRIVATE):
        return Reach.PRIVATE
    return Reach.PUBLIC if address in _GLOBAL_6 else Reach.NEVER
