"""The journal's list, filters and pages are read-only."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scenarios_app.journal import journal
from scenarios_app.journal.coverage import count_requests_since
from scenarios_app.models import UNMATCHED_ROWS, Outcome, ServedRequest
from tests.admin.pages import JOURNAL, SESSIONS, create_scenario, page_of
from tests.admin.traffic import NOON, create_journal_row, create_unmatched_row
from tests.state.entries import entry

pytestmark = pytest.mark.django_db


def rows(client: Client, **query: str) -> list[ServedRequest]:
    return list(client.get(JOURNAL, query).context["cl"].result_list)


def page(client: Client, row: ServedRequest) -> str:
    response = client.get(f"{JOURNAL}{row.pk}/change/")
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_journal_lists_the_newest_request_first(root: Client) -> None:
    older_row, newer_row = create_journal_row(), create_journal_row()
    assert [row.pk for row in rows(root)] == [newer_row.pk, older_row.pk]


def test_journal_lists_a_request_that_just_ended(root: Client) -> None:
    journal.record(entry(path="/v1/just-now"))
    assert [row.path for row in rows(root)] == ["/v1/just-now"]


@pytest.mark.parametrize(
    "query",
    [
        {"session": "mine"},
        {"provider": "anthropic"},
        {"scenario": "weather"},
        {"outcome__exact": "unmatched"},
        {"found": "none"},
        {"q": "claude"},
        {"q": "umbrella"},
        {"q": "it RAINS"},
        {"q": "weath"},
        {"q": "v1/mess"},
    ],
)
def test_filters_and_search(root: Client, query: dict[str, str]) -> None:
    expected_row = create_unmatched_row(
        session="mine",
        provider="anthropic",
        scenario="weather",
        path="/v1/messages",
        model="claude",
        request_preview="Do I need an umbrella?",
        response_preview="Yes, it rains.",
    )
    create_journal_row()
    assert [row.pk for row in rows(root, **query)] == [expected_row.pk]


def test_journal_row_shows_message_and_answer(root: Client) -> None:
    create_journal_row(request_preview="<b>Rain?</b>", response_preview="Yes.")
    html = root.get(JOURNAL).content.decode()
    assert '<span class="sc-said" title="&lt;b&gt;Rain?&lt;/b&gt;">' in html
    assert ">Yes.</span>" in html


def test_request_over_a_websocket_has_a_label(root: Client) -> None:
    create_journal_row()
    plain = create_journal_row(request_headers={"upgrade": "h2c"})
    socket = create_journal_row(request_headers={"upgrade": "WebSocket"}, streamed=True)
    response = root.get(JOURNAL)
    html = response.content.decode()
    assert html.count(">WebSocket, openai, gpt-4o<") == html.count(">WebSocket") == 1
    label = '<span class="sc-tag">WebSocket</span>'
    assert label in page(root, socket) and label not in page(root, plain)


def test_search_for_a_request_id_finds_the_request(root: Client) -> None:
    create_journal_row()
    expected_row = create_journal_row()
    assert [row.pk for row in rows(root, q=f" {expected_row.uid} ")] == [expected_row.pk]


def test_filter_offers_the_selected_value_among_the_latest(root: Client) -> None:
    for number in range(25):
        create_journal_row(session=f"s{number}")
    response = root.get(JOURNAL, {"session": "s0"})
    spec = response.context["cl"].filter_specs[0]
    assert [value for value, _ in spec.lookup_choices][-2:] == ["s5", "s0"]


def test_default_answer_counts_as_unmatched(root: Client) -> None:
    fallback_row = create_journal_row(scenario="test-mode", step="1", fallback=True)
    unmatched_row, matched_row = create_unmatched_row(), create_journal_row(scenario="s", step="1")
    by_filter = {kind: [row.pk for row in rows(root, found=kind)] for kind in ("no", "yes", "none")}
    assert by_filter == {
        "no": [unmatched_row.pk, fallback_row.pk],
        "yes": [matched_row.pk],
        "none": [unmatched_row.pk],
    }
    assert [row.pk for row in rows(root, found="catch-all")] == [fallback_row.pk]
    html = root.get(JOURNAL).content.decode()
    badge = 'class="sc-outcome sc-fallback">200 default answer</span>'
    assert f'{badge}<span class="sc-under">no scenario matched</span>' in html
    assert 'class="sc-outcome sc-fallback">200 no scenario matched (default answer)<' in page(
        root, fallback_row
    )
    tiles = {name: figure for name, figure, *_ in root.get("/admin/").context["tiles"]}
    assert tiles["Unmatched requests"] == 2
    assert count_requests_since(NOON).unmatched == 2
    (line,) = root.get(SESSIONS).context["lines"]
    assert (line.seen.requests, line.seen.unmatched) == (3, 2)


def test_all_counts_of_unmatched_requests_agree(root: Client) -> None:
    create_unmatched_row()
    create_unmatched_row(outcome=Outcome.CLIENT_GONE)
    create_journal_row(scenario="test-mode", step="1", way="match", fallback=True)
    create_journal_row(matched=False, way="by_id")
    create_journal_row(matched=False, status=400)
    create_journal_row(scenario="s", step="1", way="match")
    by_row = {row.pk for row in ServedRequest.objects.all() if row.is_unmatched}
    by_query = set(ServedRequest.objects.filter(UNMATCHED_ROWS).values_list("pk", flat=True))
    assert by_row == by_query
    assert len(by_row) == 4


def test_request_page_shows_decision_near_misses_and_bodies(root: Client) -> None:
    scenario = create_scenario("weather", {})
    mismatch = {"field": "match.model", "expected": "equals gpt-5", "actual": '"gpt-4o"'}
    row = create_journal_row(
        scenario="weather",
        step="ask",
        attempt=3,
        fault="rate_limit",
        fallback=True,
        violations=["System prompt missing fragments"],
        near_misses=[{"scenario": "weather", "step": "1", "mismatches": [mismatch]}],
        request_headers={"x-team": "qa"},
        query={"beta": "true"},
        request_body=json.dumps({"messages": ["ü"]}),
        response_headers={"x-mockllm-step": "ask"},
        response_body="data: one\n\ndata: two\n\n",
        response_cut=True,
        timings={"chosen_ms": 1.5},
    )
    html = page(root, row)
    for text in ("sent its default answer", "rate_limit", "System prompt missing fragments"):
        assert text in html
    for text in ("match.model", "equals gpt-5", '"gpt-4o"', "x-team", "?beta", "x-mockllm-step"):
        assert text in html
    for text in (
        '"messages": [\n    "ü"',
        "data: one\n\ndata: two",
        ", cut",
        str(row.uid),
        "1.5 ms",
    ):
        assert text in html
    assert f'href="{page_of(scenario)}"' in html


@pytest.mark.parametrize("body", ["", "{", "[" * 5000, '{"a": 1e999}', "\x1b[31m", '"\\ud800"'])
def test_request_page_shows_any_body(root: Client, body: str) -> None:
    page(root, create_journal_row(request_body=body, response_body=body))


@pytest.mark.parametrize("key", ["999999", "x", "9" * 40, "-1"])
def test_unknown_request_redirects_to_the_overview(root: Client, key: str) -> None:
    response = root.get(f"{JOURNAL}{key}/change/", follow=True)
    assert "doesn’t exist" in unescape(response.content.decode())


def test_journal_is_read_only(root: Client) -> None:
    row = create_journal_row()
    assert root.get(f"{JOURNAL}add/").status_code == 403
    assert root.post(f"{JOURNAL}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    root.post(f"{JOURNAL}{row.pk}/change/", {"path": "/forged", "status": "500"})
    action: dict[str, Any] = {"action": "delete_selected", "_selected_action": [row.pk]}
    root.post(JOURNAL, action | {"post": "yes"})
    assert ServedRequest.objects.get().path == "/v1/chat/completions"


def test_journal_list_reads_no_bodies_and_runs_no_count(
    root: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(60):
        create_journal_row(request_body="x" * 1000, scenario="s")
    with django_assert_max_num_queries(14) as queries:
        response = root.get(JOURNAL)
    assert len(response.context["cl"].result_list) == 50
    statements = [
        query["sql"] for query in queries.captured_queries if "servedrequest" in query["sql"]
    ]
    assert [sql for sql in statements if "request_text" in sql or "response_text" in sql] == []
    assert [sql for sql in statements if "COUNT(" in sql and "GROUP BY" not in sql] == []
    assert len(root.get(JOURNAL, {"p": "2"}).context["cl"].result_list) == 10
