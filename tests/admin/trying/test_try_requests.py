"""A request of the journal becomes a step."""

from typing import Any

import pytest
from django.test import Client

from scenarios_app.models import Scenario, ServedRequest
from tests.admin.traffic import served
from tests.admin.trying.tries import FIELDS, TRY, states

pytestmark = pytest.mark.django_db


def unanswered(**columns: Any) -> ServedRequest:
    body = (
        '{"model": "gpt-4o", "messages": [{"role": "user", "content": "What is the weather?"},'
        ' {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function":'
        ' {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c",'
        ' "content": "sunny"}]}'
    )
    headers = {"authorization": "Bearer ***", "content-type": "application/json"}
    return served(request_body=body, request_headers=headers, matched=False, **columns)


def make_url(row: ServedRequest) -> str:
    return f"/admin/scenarios_app/servedrequest/{row.pk}/make-step/"


def test_a_step_made_from_a_request_matches_it(root: Client) -> None:
    row = unanswered()
    answer = root.post(make_url(row))
    scenario = Scenario.objects.get()
    assert answer.headers["Location"].endswith(f"/scenario/{scenario.pk}/change/")
    assert not scenario.enabled
    assert scenario.steps.get().consume is False
    scenario.enabled = True
    scenario.save()
    page = root.get(f"{TRY}?request={row.pk}")
    fields = {name: page.context["form"][name].value() for name in ("path", "body")}
    assert states(root.post(f"{TRY}?request={row.pk}", FIELDS | fields)) == [("1", "wins")]


def test_a_second_one_gets_another_name(root: Client) -> None:
    row = unanswered()
    for _ in range(2):
        root.post(make_url(row))
    assert Scenario.objects.count() == 2


def test_of_a_body_that_was_cut_no_step_is_made(root: Client) -> None:
    row = unanswered(request_cut=True)
    page = root.post(make_url(row), follow=True).content.decode()
    assert "kept only the beginning" in page
    assert not Scenario.objects.exists()


def test_readers_make_no_steps(reader: Client) -> None:
    row = unanswered()
    assert reader.post(make_url(row)).status_code == 403
    assert (
        b"Make a step"
        not in reader.get(f"/admin/scenarios_app/servedrequest/{row.pk}/change/").content
    )


def test_the_curl_command_quotes_what_it_sends_and_holds_no_mask(root: Client) -> None:
    row = unanswered(query={"beta": "true"})
    page = root.get(f"/admin/scenarios_app/servedrequest/{row.pk}/change/")
    command = page.context["curl"]
    assert command.startswith(
        "curl -N -g --path-as-is -X POST 'http://testserver/v1/chat/completions?beta=true'"
    )
    assert "'authorization: Bearer any'" in command
    assert "***" not in command
