"""A provider's real API: its address, the calls that are for it, and its clients' settings."""

import msgspec

# Names the API of a call whose path several APIs have.
DIALECT_HEADER = "x-mockllm-dialect"


class SdkClient(msgspec.Struct, frozen=True):
    """A class of an SDK whose objects call an API: its dotted name, and the attributes of an object
    that hold the base URL and the key. `key` is empty if no attribute holds it."""

    name: str
    base_url: str
    key: str = ""


class Upstream(msgspec.Struct, frozen=True):
    """The real API behind a wire.

    `name` is that of `MOCKLLM_UPSTREAMS`. `base_url` is the public address, if there is one; calls
    of an API without a base URL go to the upstream that is named by `fallback`. `hosts` are its
    host names; one that begins with a dot stands for all names below it.

    A call is forwarded to this API if one of these says so, the first before the next; otherwise
    its wire's provider decides. This server has the API's paths below `path_prefix`, which is not
    part of the forwarded path. `routing_header` is the name and value of a header, which begins
    with `x-mockllm-` and is not forwarded. `own_path_prefix` is the start of paths of the API
    itself.

    `key_variables` and `base_url_variables` are read by SDKs; the latter have the path that SDKs
    expect after the host. `unset_variables` would override them. `key_header` carries the bare key;
    without it the key is a bearer token. `headers` are required beside it.

    `sdk_clients` are the classes of clients that read these variables when they are made.

    Recordings keep the API's `replayed_headers` of responses, beside those that every API has.
    `telemetry_names` are OpenTelemetry's names of the provider, if they differ from ours.
    """

    name: str
    base_url: str = ""
    fallback: str = ""
    hosts: tuple[str, ...] = ()
    path_prefix: str = ""
    routing_header: tuple[str, str] | None = None
    own_path_prefix: str = ""
    key_variables: tuple[str, ...] = ()
    base_url_variables: tuple[tuple[str, str], ...] = ()
    unset_variables: tuple[str, ...] = ()
    key_header: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    sdk_clients: tuple[SdkClient, ...] = ()
    replayed_headers: tuple[str, ...] = ()
    telemetry_names: tuple[str, ...] = ()

    def has_host(self, host: str) -> bool:
        """Return whether the API has this host name, which is in lower case."""
        return any(
            host == name or (name.startswith(".") and host.endswith(name)) for name in self.hosts
        )
