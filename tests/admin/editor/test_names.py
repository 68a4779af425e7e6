"""Names at every door: joiners may be inside, and an error names any other hidden character."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.builder import scenario
from scenarios_app.control.steps import name_for
from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.document import DocumentError, load_text
from scenarios_app.engine.parts import TextPart
from scenarios_app.models import Scenario
from scenarios_app.store import save_document
from tests.admin.pages import ADD, IMPORT, error_lines, fields_at

pytestmark = pytest.mark.django_db

Door = Callable[[Client, str], str]


def by_document(_: Client, name: str) -> str:
    """Load a document; return the error, or ""."""
    try:
        save_document(load_text(json.dumps({"name": name}).encode())[0])
    except DocumentError as error:
        return str(error)
    return ""


def by_builder(_: Client, name: str) -> str:
    try:
        save_document(load_text(json.dumps(scenario(name).build()).encode())[0])
    except DocumentError as error:
        return str(error)
    return ""


def by_form(client: Client, name: str) -> str:
    page = client.post(ADD, fields_at(client, ADD) | {"name": name})
    return "" if page.status_code == 302 else "; ".join(error_lines(page))


def by_import(client: Client, name: str) -> str:
    document = {"text": json.dumps({"name": name}), "existing": "replace", "load": "1"}
    page = client.post(IMPORT, document)
    return "" if page.status_code == 302 else page.context["problems"][0].message


def by_control_api(client: Client, name: str) -> str:
    data = json.dumps({"name": name})
    response = client.post("/control/scenarios", data, content_type="application/json")
    return "" if response.status_code == 201 else response.json()["message"]


DOORS: list[Door] = [by_document, by_builder, by_form, by_import, by_control_api]


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["می\u200cخواهم", "👨\u200d👩\u200d👧"])
def test_name_with_joiners_inside_is_accepted(root: Client, door: Door, name: str) -> None:
    assert door(root, name) == ""
    assert Scenario.objects.get().name == name


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("ab\u200bc", "U+200B ZERO WIDTH SPACE at position 3"),
        ("ab\u200d", "U+200D ZERO WIDTH JOINER at position 3"),
    ],
)
def test_error_names_a_hidden_character(root: Client, door: Door, name: str, error: str) -> None:
    assert error in door(root, name)
    assert not Scenario.objects.exists()


def test_name_made_from_a_message_has_no_hidden_characters() -> None:
    message = Message("user", (TextPart("refund\u200b my\u2066 order"),))
    request = CanonicalRequest("openai", "/", "/", "m", messages=(message,))
    assert name_for(request) == "refund my order"
