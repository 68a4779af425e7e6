"""Sample IP addresses, each with its expected `Reach`."""

from mockllm_site.kit.addresses import Reach

PUBLIC = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
    *("172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255"),
    *("2606:4700:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"),
)
LOOPBACK = ("127.0.0.1", "127.0.0.53", "127.255.255.254", "::1")
PRIVATE = (
    *("10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"),
    *("fc00::1", "fd12:3456:789a::1"),
)
NEVER = (
    # this network, link-local (with metadata services), carrier-grade NAT
    *("0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "169.254.170.2"),
    *("100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16"),
    # protocols, documentation, benchmarks, 6to4 relays
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1"),
    *("198.18.0.1", "198.19.255.255"),
    # multicast, reserved, broadcast
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    # the same in IPv6
    *("::", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "fd00:ec2::254"),
    *("2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "100::1", "4000::1", "5f00::1"),
    # IPv4 inside IPv6: mapped, compatible, translated, 6to4, Teredo, NAT64, ISATAP
    *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:10.0.0.1", "::127.0.0.1"),
    *("::ffff:0:7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b:1::808:808"),
    *("2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1"),
)
ADDRESSES: dict[str, Reach] = {
    **dict.fromkeys(PUBLIC, Reach.PUBLIC),
    **dict.fromkeys(LOOPBACK, Reach.LOOPBACK),
    **dict.fromkeys(PRIVATE, Reach.PRIVATE),
    **dict.fromkeys(NEVER, Reach.NEVER),
}


def to_url_host(address: str) -> str:
    """Return an address as it is written in a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address
