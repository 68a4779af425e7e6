"""The tabs of the page *Test*."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from scenarios_app.play.conversation import load_conversation
from tests.admin.pages import LIST, create_scenario, fields, fields_at, page_of
from tests.admin.trying.tries import FIELDS, TRY

pytestmark = pytest.mark.django_db

PAGE = f"{LIST}test/"


def test_change_of_tabs_keeps_what_was_typed(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    edits = fields_at(root, page_of(scenario)) | {"steps-0-produce.text": "It pours."}
    page = root.post(f"{LIST}{scenario.pk}/test/", edits)
    form = fields(page.content.decode(), "test_form") | {"user": "rain tomorrow?", "system": "Hi."}
    del form["stream"]
    page = root.post(f"{PAGE}?tab=conversation", form)
    assert "It pours." in page.content.decode()
    assert load_conversation(page.context["conversation"]).turns
    form = fields(page.content.decode(), "test_form")
    form["conversation"] = json.dumps({"turns": [{"user": "rain, twice"}]})
    page = root.post(f"{PAGE}?tab=user", form)
    assert 'id="no_user"' in page.content.decode()
    page = root.post(TRY, fields(page.content.decode(), "test_form"))
    form_fields = page.context["form"]
    assert [form_fields[name].value() for name in ("user", "system")] == ["rain tomorrow?", "Hi."]
    assert not form_fields["stream"].value()
    assert page.context["told"].said == "It pours."
    conversation = fields(page.content.decode(), "test_form")["conversation"]
    assert json.loads(conversation)["turns"] == [{"user": "rain, twice"}]


def test_enter_presses_the_button_of_the_open_tab(root: Client) -> None:
    html = root.get(PAGE).content.decode()
    first, *_ = html[html.index('aria-label="Ways to test"') :].split("<button")[1:]
    assert first.startswith(' form="test_form" hidden>')


@pytest.mark.parametrize(
    ("old", "tab"), [("try", "request"), ("play", "conversation"), ("user", "user")]
)
def test_earlier_address_leads_to_its_tab(root: Client, old: str, tab: str) -> None:
    create_scenario("weather", {"match.messages(user)": "rain"})
    response = root.get(f"{LIST}{old}/", {"scenario": "weather"}, follow=True)
    assert response.redirect_chain == [(f"{PAGE}?scenario=weather&tab={tab}", 302)]
    current = [is_current for *_, is_current in response.context["tabs"]]
    assert current.index(True) == ["request", "conversation", "user"].index(tab)
    response = root.post(f"{LIST}{old}/", FIELDS | {"user": "rain"}, follow=True)
    assert response.request["REQUEST_METHOD"] == "POST" and response.status_code == 200


def test_unknown_tab_is_the_first(root: Client) -> None:
    page = root.get(reverse("admin:scenarios_app_scenario_test"), {"tab": "<b>"})
    assert page.context["form"] is not None and "<b>" not in page.context["url"]
