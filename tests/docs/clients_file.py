"""The list of clients in the npm package mockllm-vitest, from the providers' wires.

`make docs` writes it into the package.
"""

import json

from scenarios_app.testing.variables import (
    command_variables,
    provider_hosts,
    sdk_variables,
    unset_variables,
)
from tests.docs.blocks import ROOT

PACKAGE = ROOT / "tools" / "vitest"
FILE = PACKAGE / "clients.json"
_BASE_URL, _KEY = "http://base", "key"
_OWN_VARIABLES = ("MOCKLLM_URL", "MOCKLLM_HOSTS", "NODE_OPTIONS")


def clients_text() -> str:
    """Return the content of the file: variables with the path of a base URL, keys, hosts."""
    variables = command_variables(_BASE_URL, _KEY, environment={})
    urls = {
        name: value.removeprefix(_BASE_URL)
        for name, value in sdk_variables(_BASE_URL, _KEY, environment={}).items()
        if value.startswith(_BASE_URL) and name not in _OWN_VARIABLES
    }
    content = {
        "variables": urls,
        "keys": sorted(name for name, value in variables.items() if value == _KEY),
        "unset": sorted(unset_variables()),
        "hosts": provider_hosts(),
    }
    return json.dumps(content, indent=2) + "\n"


def write_clients() -> None:
    FILE.write_text(clients_text(), encoding="utf-8")
