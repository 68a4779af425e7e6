"""The environment variables that point SDKs and tools at a server."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from scenarios_app.wire.upstreams import upstreams

# The key, and so the session, of a command.
API_KEY: Final = "mockllm-run"
# SDKs refuse to start without a key.
NO_KEY: Final = "mockllm-no-key"
# Clients of these APIs, which have no wire, must not reach the real ones.
_BASE_URLS_WITHOUT_WIRE: Final = ("GOOGLE_VERTEX_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
_KEY_WITHOUT_WIRE: Final = "AWS_BEARER_TOKEN_BEDROCK"
_HOST_WITHOUT_WIRE: Final = re.compile(
    r"bedrock-runtime[\w.-]*\.amazonaws\.com|([\w-]+-)?aiplatform\.googleapis\.com"
)
NODE_OPTIONS: Final = "NODE_OPTIONS"
_NODE_REDIRECT: Final = Path(__file__).with_name("node_redirect.cjs")


def unset_variables() -> tuple[str, ...]:
    """Return the names of variables to remove: they redirect a client or name another session."""
    return tuple(name for upstream in upstreams().values() for name in upstream.unset_variables)


def sdk_variables(base_url: str, api_key: str, *, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that point SDKs at a server; the key is the session. The hosts that the
    `environment` reaches without a proxy are kept."""
    variables = {"MOCKLLM_URL": base_url}
    for upstream in upstreams().values():
        for name, path in upstream.base_url_variables:
            variables[name] = f"{base_url}{path}"
        if upstream.base_url_variables:
            variables |= dict.fromkeys(upstream.key_variables, api_key)
    variables |= dict.fromkeys(_BASE_URLS_WITHOUT_WIRE, base_url)
    variables[_KEY_WITHOUT_WIRE] = api_key
    for name in unset_variables():
        variables.pop(name, None)
    for name in ("NO_PROXY", "no_proxy"):
        hosts = (environment.get(name), "127.0.0.1", "localhost")
        variables[name] = ",".join(filter(None, hosts))
    return variables


def has_no_wire(host: str) -> bool:
    """Return True for a host of Bedrock or Vertex AI, whose APIs this package does not have."""
    return _HOST_WITHOUT_WIRE.fullmatch(host) is not None


def command_variables(
    base_url: str, api_key: str, *, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables for a command: those of SDKs, and those that redirect Node. Node's
    `fetch` then reaches the server also from clients that read no variable for their base URL. If
    such a client has no key in the environment, it gets this one."""
    variables = sdk_variables(base_url, api_key, environment=environment)
    keys = {name for upstream in upstreams().values() for name in upstream.key_variables}
    missing = keys.difference(variables, unset_variables())
    variables |= {name: api_key for name in missing if not environment.get(name)}
    variables["MOCKLLM_HOSTS"] = json.dumps(provider_hosts())
    variables[NODE_OPTIONS] = _add_node_redirect(environment.get(NODE_OPTIONS, ""))
    return variables


def _add_node_redirect(node_options: str) -> str:
    """Return NODE_OPTIONS with our script preloaded, which redirects Node's requests."""
    path = str(_NODE_REDIRECT).replace("\\", "\\\\").replace('"', '\\"')
    preload = f'--require "{path}"'
    return node_options if preload in node_options else f"{node_options} {preload}".strip()


def provider_hosts() -> dict[str, str]:
    """Return the path prefix on this server by real host; a host with a leading dot is a suffix."""
    hosts: dict[str, str] = {}
    for upstream in upstreams().values():
        local = urlsplit(upstream.base_url)
        if local.hostname == "127.0.0.1":
            hosts |= dict.fromkeys((local.netloc, f"localhost:{local.port}"), upstream.path_prefix)
        hosts |= dict.fromkeys(upstream.hosts, upstream.path_prefix)
    return hosts


@contextmanager
def refresh_clients() -> Iterator[None]:
    """Replace clients that SDKs create at import, so that they use the current variables."""
    # The functions of ollama's module (`ollama.chat`) are methods of such a client.
    client: Any = getattr(sys.modules.get("ollama"), "_client", None)
    if not hasattr(client, "_client"):
        yield
        return
    before, client._client = client._client, type(client)()._client
    try:
        yield
    finally:
        client._client.close()
        client._client = before


def real_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the API keys in an environment by provider."""
    keys = {
        name: _first_value(upstream.key_variables, environment)
        for name, upstream in upstreams().items()
    }
    return {name: key for name, key in keys.items() if key}


def base_urls(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the base URLs that an environment gives to SDKs, by provider."""
    urls = {
        name: _first_value((variable for variable, _ in upstream.base_url_variables), environment)
        for name, upstream in upstreams().items()
    }
    return {name: url for name, url in urls.items() if url.startswith(("http://", "https://"))}


def recording_variables(base_url: str, *, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `command_variables` for clients whose requests are forwarded. They keep the keys of
    the environment; a provider without one gets the placeholder NO_KEY."""
    variables = command_variables(base_url, NO_KEY, environment=environment)
    key_variables = [upstream.key_variables for upstream in upstreams().values()]
    for names in (*key_variables, (_KEY_WITHOUT_WIRE,)):
        if _first_value(names, environment):
            for name in names:
                variables.pop(name, None)
    return variables


def _first_value(names: Iterable[str], environment: Mapping[str, str]) -> str:
    """Return the first value of these variables that is set, or ""."""
    return next((environment[name] for name in names if environment.get(name)), "")
