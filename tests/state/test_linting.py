"""Lint of scenarios by `check_scenarios`, and the tools known from the journal."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scenarios_app.catalog.lint import offered_tools
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.journal_entry import clean_entry
from scenarios_app.store.documents import load
from tests.state.entries import entry, row_of

pytestmark = pytest.mark.django_db

BROAD_SCENARIO = {"name": "greedy", "steps": [{"consume": False, "produce": {"text": "Hi."}}]}


def store_request(body: Any, **fields: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    row = clean_entry(entry(request_body=text.encode()), body_bytes=65_536)
    row_of(row, **fields).save()


def test_warnings_are_printed_and_the_command_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "greedy.json"
    path.write_text(json.dumps(BROAD_SCENARIO))
    out, err = StringIO(), StringIO()
    call_command("check_scenarios", str(path), stdout=out, stderr=err)
    assert err.getvalue().startswith("greedy: step 1: it has no condition")
    assert err.getvalue().endswith("(broad)\n")
    assert out.getvalue() == "no problems; scenarios: 1, steps: 1, warnings: 1\n"


def test_strict_makes_a_warning_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "greedy.json"
    path.write_text(json.dumps(BROAD_SCENARIO))
    with pytest.raises(CommandError, match=r"^warnings found: 1$") as error:
        call_command(
            "check_scenarios", str(path), strict=True, stdout=StringIO(), stderr=StringIO()
        )
    assert error.value.returncode == 1


def test_disabled_scenario_is_not_linted() -> None:
    load(load_documents({**BROAD_SCENARIO, "enabled": False}))
    err = StringIO()
    call_command("check_scenarios", stdout=StringIO(), stderr=err)
    assert err.getvalue() == ""


def test_offered_tools_are_read_from_the_journal() -> None:
    store_request({"tools": [{"type": "function", "function": {"name": "one"}}]})
    store_request({"tools": [{"name": "two", "input_schema": {}}]})
    store_request({"tools": [{"functionDeclarations": [{"name": "three"}, {"name": "four"}]}]})
    assert offered_tools() == {"one", "two", "three", "four"}


def test_tools_of_input_items_and_namespaces_are_offered() -> None:
    custom = {"type": "custom", "custom": {"name": "one"}}
    store_request(
        {"tools": [custom, {"type": "namespace", "name": "n", "tools": [{"name": "two"}]}]}
    )
    inner = {"type": "namespace", "name": "functions", "tools": [{"name": "exec"}]}
    added = {"type": "additional_tools", "tools": [inner]}
    call = {"type": "function_call", "name": "earlier"}
    store_request({"input": [added, call, "x", 7], "tools": []})
    assert offered_tools() == {"one", "two", "exec"}


@pytest.mark.parametrize(
    "body", ['{"tools": ', '["tools"]', '{"tools": 7}', '{"tools": [7, {"function": null}]}', "{}"]
)
def test_body_without_tools_offers_none(body: str) -> None:
    store_request(body)
    assert offered_tools() == set()


def test_a_body_that_was_cut_is_not_read() -> None:
    store_request({"tools": [{"name": "one"}]}, request_cut=True)
    assert offered_tools() == set()


def test_a_tool_that_no_request_offered_is_a_warning_of_stored_scenarios() -> None:
    store_request({"tools": [{"name": "get_weather"}]})
    step = {"match": {"tools": ["get_wether"]}, "produce": {"text": "Hi."}}
    load(load_documents({"name": "typo", "steps": [step]}))
    err = StringIO()
    call_command("check_scenarios", stdout=StringIO(), stderr=err)
    assert err.getvalue() == "typo: step 1: no request has offered get_wether (unoffered)\n"
