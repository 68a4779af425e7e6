"""The page that plays a scenario's scripted user, and the field of the script."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from scenarios_app.engine.document import dump, load_documents
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.store import document_of, save_document
from tests.admin.drafting import draft_page, edit_as_draft, publish
from tests.admin.pages import LIST, fields_at, page_of, save

pytestmark = pytest.mark.django_db

PAGE = f"{LIST}test/"
REFUND: dict[str, Any] = {
    "name": "refund",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "money back"}]},
            "produce": {"text": "What is your order number?"},
        },
        {
            "match": {"messages": [{"role": "user", "equals": "12"}]},
            "produce": {
                "tool_calls": [
                    {"name": "refund", "arguments": {"order": 12}, "result": {"text": "done"}}
                ]
            },
        },
        {
            "match": {"tool_results": [{"name": "refund", "equals": "done"}]},
            "produce": {"text": "Your money is on its way."},
        },
    ],
    "user": {
        "turns": [
            {"say": "I want my money back."},
            {
                "when": {"say": {"contains": "order number"}},
                "say": "12",
                "end": True,
                "must": [{"call": {"name": "refund", "arguments": {"order": 12}}}],
            },
        ],
        "must": [{"not_say": {"contains": "sorry"}}],
    },
}


def store_scenario(**changes: Any) -> Scenario:
    (document,) = load_documents(REFUND | changes)
    return save_document(document)


def answers(page: Any) -> list[str | None]:
    return [turn.answer for turn in page.context["run"].turns]


def test_user_is_played_with_scripted_tool_results(root: Client) -> None:
    store_scenario()
    page = root.get(PAGE, {"tab": "user", "scenario": "refund"})
    assert answers(page) == ["What is your order number?", "Your money is on its way."]
    assert page.context["run"].passed
    assert "All checkpoints hold." in page.content.decode()


def test_failed_checkpoint_is_shown_with_its_expected_value(root: Client) -> None:
    store_scenario(user={"turns": [{"say": "money back", "must": [{"say": {"contains": "<b>"}}]}]})
    text = root.get(PAGE, {"tab": "user", "scenario": "refund"}).content.decode()
    assert "A checkpoint failed." in text
    assert "contains &quot;&lt;b&gt;&quot;" in text


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"produce": {"tool_calls": [{"name": "refund"}]}}, "without a scripted result"),
        ({"produce": {"fault": {"kind": "http", "status": 503}}}, "the model answers 503"),
        ({"produce": {"text": "half", "fault": {"kind": "disconnect"}}}, "breaks off"),
        ({"match": {"model": "other"}, "produce": {"text": "x"}}, "no step of the scenario"),
        (
            {"produce": {"tool_calls": [{"name": "refund", "result": {"text": "x"}}]}},
            "more than 20 tool calls",
        ),
        (
            {"produce": {"tool_calls": [{"name": "refund", "arguments": "{"}]}},
            "arguments that are not JSON",
        ),
    ],
)
def test_conversation_ends_where_the_model_gives_no_answer(
    root: Client, step: Any, reason: str
) -> None:
    store_scenario(steps=[{"consume": False} | step])
    (turn,) = root.get(PAGE, {"tab": "user", "scenario": "refund"}).context["run"].turns
    assert reason in turn.checkpoints[-1].actual
    assert not turn.passed


def test_dry_run_uses_up_no_step_and_is_not_journalled(root: Client) -> None:
    store_scenario()
    for _ in range(2):
        assert root.get(PAGE, {"tab": "user", "scenario": "refund"}).context["run"].passed
    journal.flush()
    assert not ServedRequest.objects.exists()


@pytest.mark.parametrize("name", ["plain", "absent"])
def test_scenario_without_a_user_shows_how_to_write_one(root: Client, name: str) -> None:
    store_scenario(name="plain", user=None)
    page = root.get(PAGE, {"tab": "user", "scenario": name})
    assert "run" not in page.context
    assert 'id="no_user"' in page.content.decode()


def test_unsaved_script_is_played(root: Client) -> None:
    row = store_scenario()
    fields = fields_at(root, page_of(row))
    fields["user"] = json.dumps({"turns": [{"say": "My money back, please."}]})
    page = root.post(f"{page_of(row).removesuffix('change/')}test/?tab=user", fields)
    assert answers(page) == ["What is your order number?"]
    assert document_of(row).user == load_documents(REFUND)[0].user


def test_wrong_script_is_reported_at_its_field(root: Client) -> None:
    row = store_scenario()
    wrong = json.dumps({"turns": [{"say": "Hello."}, {"sya": "Bye."}]})
    text = save(root, row, user=wrong).content.decode()
    assert "turns[1].sya: unknown key, did you mean &quot;say&quot;?" in text
    assert 'href="#id_user"' in text


def test_script_is_edited_saved_and_published_as_a_draft(root: Client) -> None:
    row = store_scenario()
    draft = edit_as_draft(root, row)
    assert draft.document["user"] == REFUND["user"]
    page = root.get(PAGE, {"tab": "user", "draft": draft.pk})
    assert page.context["run"].passed
    fields = fields_at(root, draft_page(draft), "draft_form")
    fields["user"] = json.dumps({"turns": [{"say": "My money back."}]})
    root.post(draft_page(draft), fields)
    publish(root, Draft.objects.get())
    (published,) = Scenario.objects.all()
    assert dump(document_of(published))["user"] == {"turns": [{"say": "My money back."}]}


def test_duplicate_has_the_same_user(root: Client) -> None:
    row = store_scenario()
    root.post(f"{page_of(row).removesuffix('change/')}duplicate/")
    rows = [*Scenario.objects.all(), *Draft.objects.all()]
    assert [row.document["user"] for row in rows] == [REFUND["user"]] * 2


def test_page_needs_the_permission_to_view_scenarios(client: Client) -> None:
    store_scenario()
    reader = User.objects.create_user("reader", password="x", is_staff=True)
    client.force_login(reader)
    assert client.get(PAGE, {"tab": "user", "scenario": "refund"}).status_code == 403
    reader.user_permissions.add(Permission.objects.get(codename="view_scenario"))
    assert client.get(PAGE, {"tab": "user", "scenario": "refund"}).status_code == 200


@pytest.mark.parametrize("arguments", ["[" * 100_000, "{"], ids=["deep", "cut"])
def test_call_with_unreadable_arguments_ends_the_conversation(root: Client, arguments: str) -> None:
    call = {"name": "refund", "arguments": arguments}
    tool_calls = REFUND["steps"][1]["produce"]["tool_calls"]
    steps = [{"consume": False, "produce": {"tool_calls": [call]}}]
    store_scenario(
        steps=[*steps, {"match": {"model": "never"}, "produce": {"tool_calls": tool_calls}}]
    )
    page = root.get(PAGE, {"tab": "user", "scenario": "refund"})
    assert "refund with arguments that are not JSON" in page.content.decode()
