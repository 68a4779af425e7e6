"""*Test again* shows a journaled request in the form, or raw if the form cannot represent it."""

import json
from typing import Any

import pytest
from django.test import Client

from scenarios_app.models import ServedRequest
from scenarios_app.play.conversation import sample_call
from scenarios_app.wire.registry import find_target, wires_by_name
from scenarios_app.wire.samples import SampleRequest
from tests.admin.pages import create_scenario, fields_at
from tests.admin.traffic import create_journal_row
from tests.admin.trying.tries import TRY, states

pytestmark = pytest.mark.django_db

HEADERS = {"authorization": "Bearer ***", "content-type": "application/json"}


def create_journal_row_with_body(body: dict[str, Any], **columns: Any) -> ServedRequest:
    fields = {"request_headers": HEADERS, **columns}
    return create_journal_row(request_body=json.dumps({"model": "gpt-5", **body}), **fields)


def text_message(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


@pytest.mark.parametrize("key", wires_by_name())
def test_request_of_each_provider_fills_the_form(root: Client, key: str) -> None:
    sample = SampleRequest(
        "Is it raining?", "some-model", "Be brief.", ("get_weather",), stream=True
    )
    call = sample_call(wires_by_name()[key].sample(sample), session="mine")
    target = find_target(call)
    assert target is not None
    row = create_journal_row(
        provider=target.wire.provider,
        path=call.path,
        query=dict(call.query),
        session="mine",
        request_headers=dict(call.headers),
        request_body=call.body.decode(),
    )
    fields = fields_at(root, f"{TRY}?request={row.pk}", "test_form")
    assert fields["mode"] == "form"
    assert fields["provider"] == key
    assert (fields["user"], fields["system"]) == ("Is it raining?", "Be brief.")
    assert (fields["model"], fields["tools"]) == ("some-model", "get_weather")
    assert (fields["session"], fields["turn"], fields["stream"]) == ("mine", "1", "on")


def test_tool_result_and_turn_fill_the_form(root: Client) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        text_message("Weather?"),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    row = create_journal_row_with_body({"messages": messages})
    fields = fields_at(root, f"{TRY}?request={row.pk}", "test_form")
    assert (fields["tool_name"], fields["tool_result"], fields["turn"]) == ("f", "sunny", "2")
    assert "stream" not in fields


def test_form_says_what_it_leaves_out(root: Client) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body = {"messages": [text_message("Hello")], "temperature": 0.3, "tools": [tool]}
    row = create_journal_row_with_body(body, request_headers=HEADERS | {"x-team": "qa"})
    page = root.get(f"{TRY}?request={row.pk}").content.decode()
    assert "The form leaves out temperature, the definitions of tools, headers;" in page


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [text_message("One"), text_message("1", "assistant"), text_message("Two")]},
        {"messages": [text_message("One"), text_message("Two")]},
        {"messages": "none"},
    ],
)
def test_request_that_the_form_cannot_describe_is_shown_raw(root: Client, row: Any) -> None:
    page = root.get(f"{TRY}?request={create_journal_row_with_body(row).pk}")
    assert page.context["raw_only"]
    fields = fields_at(
        root, page.request["PATH_INFO"] + "?" + page.request["QUERY_STRING"], "test_form"
    )
    assert fields["mode"] == "raw"
    assert (fields["path"], json.loads(fields["body"])["messages"]) == (
        "/v1/chat/completions",
        row["messages"],
    )
    assert "user" not in fields


def test_request_with_the_scenario_header_is_shown_raw(root: Client) -> None:
    headers = HEADERS | {"x-mockllm-scenario": "talk"}
    row = create_journal_row_with_body(
        {"messages": [text_message("Hello")]}, request_headers=headers
    )
    assert root.get(f"{TRY}?request={row.pk}").context["raw_only"]


def test_posted_raw_request_is_tried_with_its_headers(root: Client) -> None:
    create_scenario("talk", {"match.messages(user)": "Two"})
    row = create_journal_row_with_body({"messages": [text_message("One"), text_message("Two")]})
    fields = fields_at(root, f"{TRY}?request={row.pk}", "test_form")
    assert states(root.post(f"{TRY}?request={row.pk}", fields)) == [("1", "wins")]


def test_edited_form_is_tried_and_not_the_raw_request(root: Client) -> None:
    create_scenario("talk", {"match.messages(user)": "Good day"})
    row = create_journal_row_with_body({"messages": [text_message("Hello")]})
    fields = fields_at(root, f"{TRY}?request={row.pk}", "test_form")
    assert states(root.post(f"{TRY}?request={row.pk}", fields)) == [("1", "misses")]
    page = root.post(f"{TRY}?request={row.pk}", fields | {"user": "Good day"})
    assert states(page) == [("1", "wins")]
