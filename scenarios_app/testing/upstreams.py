"""The setting that tells a server where to pass requests on to, from what is at hand: options,
MOCKLLM_UPSTREAMS, the base URLs that SDKs read, and the providers' own addresses."""

from collections.abc import Mapping
from typing import Final

from scenarios_app.recording.upstreams import (
    UpstreamError,
    checked,
    public_upstreams,
    read_upstreams,
)
from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.variables import base_urls

SETTING: Final = "MOCKLLM_UPSTREAMS"
# Settings of the server's that its user may have for it.
_PASSED_ON: Final = ("MOCKLLM_UPSTREAM_SECONDS", "MOCKLLM_RECORD_BYTES")


def upstream_settings(
    environment: Mapping[str, str], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings of a server that records; `given` are base URLs by provider, which win. Raises
    ServerFailed for one that no call may be sent to."""
    named = [part for part in environment.get(SETTING, "").split(",") if part.strip()]
    known = {**public_upstreams(), **base_urls(environment)}
    try:
        known |= read_upstreams(named)
        for name, url in (given or {}).items():
            known[name] = checked(name, url)
        for name, url in known.items():
            checked(name, url)
    except UpstreamError as error:
        raise ServerFailed(f"upstream {error}") from None
    kept = {name: environment[name] for name in _PASSED_ON if environment.get(name)}
    return {**kept, SETTING: ",".join(f"{name}={url}" for name, url in known.items())}
