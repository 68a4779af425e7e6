"""Values of scenarios and requests are escaped on every page; no page loads from other hosts."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client

from scenarios_app.engine.state import AttemptRef, StepRef, put_scenario
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from tests.admin.pages import (
    ADD,
    IMPORT,
    JOURNAL,
    LIST,
    SESSION,
    SESSIONS,
    create_scenario,
    page_of,
    save,
)
from tests.admin.traffic import create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</template><img src=x onerror=alert(1)>",
    "{{ constructor.constructor('alert(1)')() }}",
    '<div x-data x-init="alert(1)">',
    "<a href=javascript:alert(1)>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "&lt;script&gt;alert(1)&lt;/script&gt;<b>",
]


class InjectedMarkup(HTMLParser):
    """Collects elements and attributes injected by a payload, and all URLs of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.injected: list[str] = []
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "script" and not attributes.get("src"):
            self.injected.append(tag)
        is_own_image = tag == "img" and attributes.get("src", "").startswith("/static/")
        if tag in ("iframe", "img", "object", "embed") and not is_own_image:
            self.injected.append(tag)
        for name, value in attributes.items():
            if name.startswith("on") or ("alert(1)" in value and name[:2] in ("x-", ":", "@")):
                self.injected.append(f"{tag} {name}")
            if name in ("href", "src", "action", "formaction", "hx-get"):
                self.urls.append(value)


def read(html: str) -> InjectedMarkup:
    markup = InjectedMarkup()
    markup.feed(html)
    return markup


@pytest.fixture(params=[" ".join(PAYLOADS), "javascript:alert(1)"], ids=["markup", "address"])
def stored_payload(request: pytest.FixtureRequest, db: None) -> str:
    """Store a scenario, a session and requests whose values are the payload; return the payload."""
    text: str = request.param
    name = text[:200]
    scenario = create_scenario(
        name,
        {"name": name, "match.messages(user)": text, "produce.text": text, "match.model": text},
        {
            "produce.text": "{{ x }}" + text,
            "produce.tool_calls": [{"name": text, "arguments": text}],
        },
        description=text,
        tags=[text.replace(",", "")],
        variables={text: text},
        system_prompt_must_include=[text],
    )
    state = services().state
    step = StepRef(name, scenario.steps.first().key, text)
    async_to_sync(state.consume)(text, step)
    async_to_sync(state.count_failure)(text, AttemptRef(step, text), times=1)
    async_to_sync(state.increment)(text, text)
    async_to_sync(state.add_violation)(text, text)
    async_to_sync(put_scenario)(state, text, text, {})
    mismatch = {"field": text, "expected": text, "actual": text}
    columns = {
        "session": text,
        "provider": text[:32],
        "method": text[:16],
        "path": text,
        "model": text,
        "scenario": name,
        "step": text,
        "fault": text[:32],
        "violations": [text],
        "near_misses": [{"scenario": text, "step": text, "mismatches": [mismatch]}],
        "request_headers": {text: text},
        "query": {text: text},
        "request_body": text,
        "response_headers": {text: text},
        "response_body": text,
        "timings": {text: 1.0},
    }
    create_journal_row(**columns)
    create_unmatched_row(**columns)
    return text


def addresses(text: str) -> Iterator[str]:
    scenario = Scenario.objects.get()
    row = create_unmatched_row(session=text)
    yield from ("/admin/", LIST, f"{LIST}?tag=x&q=x", page_of(scenario), ADD, IMPORT, JOURNAL)
    yield from (SESSIONS, f"{JOURNAL}{row.pk - 1}/change/", f"{JOURNAL}{row.pk}/change/")
    yield from (f"{LIST}{scenario.pk}/{page}/" for page in ("history", "delete"))


def test_hostile_values_are_escaped_on_every_page(root: Client, stored_payload: str) -> None:
    pages = {url: root.get(url) for url in addresses(stored_payload)}
    pages["session"] = root.get(SESSION, {"name": stored_payload})
    pages["filtered"] = root.get(JOURNAL, {"session": stored_payload, "q": stored_payload})
    pages["wrong"] = save(
        root, Scenario.objects.get(), **{"steps-0-match.messages(user).how": stored_payload}
    )
    pages["import"] = root.post(IMPORT, {"text": stored_payload, "existing": stored_payload})
    document = f'{{"name": "a", {_json(stored_payload)}: 1}}'
    pages["problems"] = root.post(IMPORT, {"text": document, "existing": "add"})
    for url, response in pages.items():
        assert response.status_code == 200, url
        markup = read(response.content.decode())
        assert markup.injected == [], url
        links = [link for link in markup.urls if link.startswith(("javascript:", "data:"))]
        assert links == [], url


def test_import_preview_escapes_hostile_values(root: Client) -> None:
    for payload in PAYLOADS:
        document = (
            f'{{"name": {_json(payload[:150])}, "description": {_json(payload)}, "steps": []}}'
        )
        response = root.post(IMPORT, {"text": document, "existing": "add"})
        assert response.context["changes"], payload
        assert read(response.content.decode()).injected == []


def test_pages_request_no_other_host(root: Client) -> None:
    scenario = create_scenario("one", {})
    urls = [*("/admin/", LIST, page_of(scenario), ADD, IMPORT, JOURNAL, SESSIONS)]
    for client, url in [(Client(), "/admin/login/"), *((root, url) for url in urls)]:
        html = client.get(url).content.decode()
        outside = [u for u in read(html).urls if re.match(r"(?i)https?:|//", u)]
        assert outside == [], url


def test_every_admin_page_has_a_content_security_policy(root: Client) -> None:
    for client, url in ((Client(), "/admin/login/"), (root, "/admin/"), (root, "/admin/none/")):
        policy = dict(
            part.split(maxsplit=1)
            for part in client.get(url)["Content-Security-Policy"].split("; ")
        )
        assert policy["default-src"] == "'self'"
        assert policy["script-src"] == "'self' 'unsafe-eval'"
        assert policy["frame-ancestors"] == "'none'" and policy["object-src"] == "'none'"


def test_no_page_needs_an_inline_script(root: Client) -> None:
    scenario = create_scenario("one", {})
    for url in ("/admin/", LIST, page_of(scenario), ADD, IMPORT, JOURNAL, SESSIONS):
        assert "<script>" not in root.get(url).content.decode()


def test_login_redirects_to_the_admin() -> None:
    User.objects.create_superuser("root", password="secret")
    response = Client().post("/admin/login/", {"username": "root", "password": "secret"})
    assert response["Location"] == "/admin/"


def _json(text: str) -> str:
    return json.dumps(text)
