"""The docs list every setting, command, route, fault, rule and dialect.

The tables are generated (`test_tables`). These tests compare the pages with the product itself, by
another path where there is one.
"""

import re
import subprocess
import sys

from django.core.management import get_commands

from mockllm_site.kit.settings_table import SETTINGS
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.verdict.judge import RULES
from scenarios_app.wire.openai.dialects.rows import DIALECTS
from scenarios_app.wire.registry import wires
from tests.docs.blocks import ROOT
from tests.docs.control_tables import operations
from tests.docs.reference_tables import arguments, our_commands


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def first_cells(page: str) -> set[str]:
    """Return the names in backticks in the first column of a page's tables."""
    return set(re.findall(r"^\| `([^`]+)`", text_of(page), re.MULTILINE))


def test_every_setting_is_in_the_reference() -> None:
    assert set(SETTINGS) == first_cells("reference/settings.md")


def test_every_command_is_in_the_reference_with_its_options() -> None:
    text = text_of("reference/commands.md")
    headings = set(re.findall(r"^### ([\w-]+)$", text, re.MULTILINE))
    own_commands = {
        name for name, app in get_commands().items() if str(app).endswith(("_app", "_site"))
    }
    assert headings == own_commands
    options = {
        option
        for name, command in our_commands().items()
        for argument in arguments(command, name)
        for option in argument.option_strings
    }
    assert {option for option in options if option not in text} == set()
    assert {"--port", "--strict", "--fail-under"} <= options


def test_help_lists_the_same_commands_as_the_reference() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "mockllm_site", "help"], capture_output=True, text=True, check=True
    )
    own_section = process.stdout.partition("Commands:")[2].partition("Django's:")[0]
    assert set(re.findall(r"^  ([\w-]+)", own_section, re.MULTILINE)) == set(our_commands())


def test_every_fault_is_in_the_reference() -> None:
    assert set(FAULT_KINDS) - first_cells("reference/faults.md") == set()


def test_every_client_rule_is_in_the_verdict_page() -> None:
    assert {rule.name for rule in RULES} <= first_cells("verdict.md")


def test_every_dialect_is_in_the_wires_page() -> None:
    assert set(DIALECTS) <= first_cells("wires.md")


def test_every_provider_route_is_in_the_reference() -> None:
    documented_routes = set(re.findall(r"\| `(/[^`]+)` \|", text_of("reference/routes.md")))
    routes = {endpoint.canonical for wire in wires() for endpoint in wire.endpoints}
    assert routes == documented_routes


def test_every_control_route_is_in_its_page() -> None:
    documented_routes = set(
        re.findall(r"^\| `([A-Z]+ /control/[^`]+)`", text_of("control.md"), re.MULTILINE)
    )
    routes = {
        f"{method} {re.sub(r'{[a-z_]+}', lambda match: match[0][1:-1].upper(), route)}"
        for method, route, _ in operations()
    }
    assert routes == documented_routes
