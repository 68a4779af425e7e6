"""A provider's real API: where it is, and how clients of it are configured."""

import msgspec


class Upstream(msgspec.Struct, frozen=True):
    """The real API behind a wire.

    `name` is that of `MOCKLLM_UPSTREAMS`. `base_url` is the public address, if there is one.
    `hosts` are its host names; one that begins with a dot stands for all names below it. This
    server has the API's paths below `path_prefix`.

    `key_variables` and `base_url_variables` are read by SDKs; the latter have the path that SDKs
    expect after the host. `unset_variables` would override them. `key_header` carries the bare key;
    without it the key is a bearer token. `headers` are required beside it.
    """

    name: str
    base_url: str = ""
    hosts: tuple[str, ...] = ()
    path_prefix: str = ""
    key_variables: tuple[str, ...] = ()
    base_url_variables: tuple[tuple[str, str], ...] = ()
    unset_variables: tuple[str, ...] = ()
    key_header: str = ""
    headers: tuple[tuple[str, str], ...] = ()
