"""An installed provider works in all features without other changes."""

import json

import pytest
from django.test import Client as Browser
from msgspec.structs import replace

from scenarios_app import builder
from scenarios_app.admin.editor.inputs import provider_choices
from scenarios_app.admin.journal.from_request import curl_of
from scenarios_app.catalog.lint import suspicions_of
from scenarios_app.engine import secrets
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.journal_entry import clean_entry
from scenarios_app.wire.base import Call
from tests.admin.change_cost.acme import KEY, chat
from tests.admin.pages import create_scenario
from tests.admin.trying.tries import TRY
from tests.serving.pipelines import Harness, scenario, text_step
from tests.state.entries import row_of


async def test_added_provider_answers_its_steps_with_its_own_key() -> None:
    pipeline = Harness(
        scenario("others", text_step("no", match={"provider": "openai"})),
        scenario("acmes", text_step("yes", match={"provider": "acme"})),
    )
    _, _, body = await pipeline.ask(chat("Hello"))
    assert json.loads(body)["choices"][0]["message"]["content"] == "yes"
    status, _, _ = await pipeline.ask(replace(chat("Hello"), headers={}))
    assert status == 401


async def test_added_provider_lists_its_own_models() -> None:
    call = Call("GET", "/acme/models", {}, {"x-acme": KEY}, b"")
    _, _, body = await Harness().ask(call)
    assert [model["id"] for model in json.loads(body)["data"]] == ["acme-1", "acme-2"]


async def test_keys_of_an_added_provider_are_masked_in_the_journal() -> None:
    pipeline = Harness(scenario("echo", text_step("{{ request.last_user_text }}")))
    await pipeline.ask(chat(f'My key is {KEY}, as in {{"x-acme": "{KEY}"}}.'))
    row = clean_entry(pipeline.journal[0], body_bytes=10_000)
    assert row.request_headers["x-acme"].startswith(secrets.MASK)
    assert KEY not in f"{row.request_headers}{row.request_body}{row.response_body}"


async def test_curl_command_has_a_placeholder_for_the_key_of_an_added_provider() -> None:
    pipeline = Harness(scenario("any", text_step("yes")))
    await pipeline.ask(chat("Hello"))
    row = clean_entry(pipeline.journal[0], body_bytes=10_000)
    command = curl_of(row_of(row), "http://testserver")
    assert "'x-acme: any'" in command and secrets.MASK not in command


@pytest.mark.django_db
def test_request_to_an_added_provider_can_be_tried(root: Browser) -> None:
    create_scenario(
        "acmes",
        {"match.provider": "acme", "match.messages(user)": "hello", "produce.text": "Yes."},
    )
    fields = {"provider": "acme", "model": "acme-1", "turn": "1", "user": "hello", "stream": "on"}
    page = root.post(TRY, fields)
    assert page.context["explanation"].provider == "acme"
    assert page.context["bytes"][0].name == "Acme"
    assert "Yes." in page.context["bytes"][0].whole


@pytest.mark.django_db
def test_home_and_overview_show_the_client_of_an_added_provider(root: Browser) -> None:
    for path in ("/", "/admin/"):
        assert "Acme(url=&quot;http://testserver/acme&quot;)" in root.get(path).content.decode()


def test_editor_and_builder_offer_an_added_provider() -> None:
    assert ("acme", "acme") in provider_choices()
    assert builder.acme(path="/acme/chat") == builder.Provider("acme", "/acme/chat")
    with pytest.raises(AttributeError, match="nobodys"):
        builder.__getattr__("nobodys")


def test_lint_accepts_an_added_provider() -> None:
    for name, has_warning in (("acme", False), ("acne", True)):
        document = scenario("one", text_step("yes", match={"provider": name}))
        assert bool(suspicions_of(load_documents(document))) == has_warning
