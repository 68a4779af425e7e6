"""`/control/requests`: pages, filters, single requests, and deletion."""

import json
from uuid import uuid4

import pytest
from django.test import Client

from scenarios_app.engine.state import key_session
from scenarios_app.models import ServedRequest
from tests.control.control_client import KEY, Control, chat, error_of, scenario, text_step

LINE = {
    "id",
    "at",
    "session",
    "provider",
    "path",
    "scenario",
    "step",
    "matched",
    "fallback",
    "outcome",
    "status",
    "violations",
    "near_misses",
    "duration_ms",
}
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
GREETING = scenario(
    "greeting",
    text_step("Hi.", name="say hi", consume=False, match={"messages": [{"contains": "Hello"}]}),
)


def claude(key: str = KEY) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    Client().post("/v1/messages", json.dumps(body), "application/json", headers=headers)


def texts_of(page: dict[str, object]) -> list[str]:
    requests = page["requests"]
    assert isinstance(requests, list)
    return [str(request["id"]) for request in requests]


def test_completed_response_is_listed_immediately(control: Control) -> None:
    control.post("scenarios", GREETING)
    uid = chat("Hello you").headers["x-mockllm-request"]
    (line,) = control.get("requests").json()["requests"]
    assert set(line) == LINE
    assert line | {"at": None, "duration_ms": None} == {
        "id": uid,
        "at": None,
        "session": key_session(KEY),
        "provider": "openai",
        "path": "/v1/chat/completions",
        "scenario": "greeting",
        "step": "say hi",
        "matched": True,
        "fallback": False,
        "outcome": "complete",
        "status": 200,
        "violations": [],
        "near_misses": [],
        "duration_ms": None,
    }
    assert line["at"].endswith("Z") and line["duration_ms"] >= 0


def test_unmatched_request_has_its_near_misses(control: Control) -> None:
    control.post("scenarios", GREETING)
    chat("Bye")
    (line,) = control.get("requests").json()["requests"]
    assert (line["matched"], line["outcome"], line["status"]) == (False, "unmatched", 404)
    assert (line["scenario"], line["step"]) == (None, None)
    (near_miss,) = line["near_misses"]
    assert (near_miss["scenario"], near_miss["step"]) == ("greeting", "say hi")
    assert near_miss["mismatches"] == [
        {
            "field": "match.messages[0]",
            "expected": 'last message contains "Hello"',
            "actual": '"Bye"',
        }
    ]


def test_a_violation_is_in_the_journal(control: Control) -> None:
    control.post("scenarios", scenario("strict", text_step("x", expect={"temperature": 0.5})))
    chat()
    (line,) = control.get("requests").json()["requests"]
    assert line["violations"] == ["Expected temperature 0.5 but received undefined"]


def test_one_request_has_its_headers_and_bodies_without_secrets(control: Control) -> None:
    control.post("scenarios", GREETING)
    uid = chat("Hello", headers={"x-team": "qa"}, key="sk-0123456789abcdef").headers[
        "x-mockllm-request"
    ]
    entry = control.get(f"requests/{uid}").json()
    assert set(entry) == LINE | {"request", "response"}
    request, response = entry["request"], entry["response"]
    assert request["method"] == "POST"
    assert request["headers"]["authorization"] == "Bearer ***cdef"
    assert request["headers"]["x-team"] == "qa"
    assert json.loads(request["body"])["messages"] == [{"role": "user", "content": "Hello"}]
    assert (request["bytes"], request["cut"]) == (len(request["body"]), False)
    assert response["headers"]["content-type"] == "application/json"
    assert json.loads(response["body"])["choices"][0]["message"]["content"] == "Hi."
    assert (response["bytes"], response["cut"]) == (len(response["body"].encode()), False)
    assert response["timings"]


def test_cut_body_is_marked_as_cut(control: Control, settings: object) -> None:
    settings.MOCKLLM_JOURNAL_BODY_BYTES = 50
    control.post("scenarios", GREETING)
    uid = chat("Hello").headers["x-mockllm-request"]
    request = control.get(f"requests/{uid}").json()["request"]
    assert (len(request["body"]), request["cut"]) == (50, True)
    assert request["bytes"] > 50


def test_list_with_bodies_equals_single_requests(control: Control) -> None:
    control.post("scenarios", GREETING)
    ids = [chat(text).headers["x-mockllm-request"] for text in ("Hello", "Bye")]
    page = control.get("requests", bodies="true", limit=1).json()
    single_entries = [control.get(f"requests/{uid}").json() for uid in ids]
    assert (page["requests"], page["next"]) == (single_entries[:1], ids[0])
    assert (
        control.get("requests", bodies="true", after=ids[0]).json()["requests"]
        == single_entries[1:]
    )
    assert error_of(control.get("requests", bodies="all")) == (400, "VALIDATION_ERROR", "bodies")


@pytest.mark.parametrize("id", ["nobody", UNKNOWN_ID, "1", "%00", "a b"])
def test_unknown_id_is_404(control: Control, id: str) -> None:
    chat()
    assert error_of(control.get(f"requests/{id}")) == (404, "NOT_FOUND", None)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"session": "sk-one"}, [0, 2]),
        ({"session": key_session("sk-two")}, [1, 3]),
        ({"session": "nobody"}, []),
        ({"provider": "anthropic"}, [2]),
        ({"provider": "gemini"}, []),
        ({"scenario": "greeting"}, [0, 1, 2]),
        ({"matched": "true"}, [0, 1, 2]),
        ({"matched": "false"}, [3]),
        ({"matched": "true", "session": "sk-two"}, [1]),
        ({"session": "", "provider": "", "scenario": "", "matched": "", "after": ""}, [0, 1, 2, 3]),
    ],
)
def test_filters_narrow_the_journal(
    control: Control, filters: dict[str, str], expected: list[int]
) -> None:
    control.post("scenarios", GREETING)
    chat("Hello", key="sk-one")
    chat("Hello", key="sk-two")
    claude("sk-one")
    chat("Bye", key="sk-two")
    all_texts = texts_of(control.get("requests").json())
    filtered_texts = texts_of(control.get("requests", **filters).json())
    assert filtered_texts == [all_texts[n] for n in expected]


def test_pages_follow_one_another_without_gap_or_repetition(control: Control) -> None:
    for _ in range(5):
        chat()
    all_texts = texts_of(control.get("requests").json())
    paged_texts: list[str] = []
    after = ""
    for size in (2, 2, 1):
        page = control.get("requests", limit=2, after=after).json()
        assert len(page["requests"]) == size
        paged_texts += texts_of(page)
        after = page["next"]
    assert after is None
    assert paged_texts == all_texts and len(set(paged_texts)) == 5


def test_a_page_that_is_just_full_is_the_last(control: Control) -> None:
    chat()
    chat()
    assert control.get("requests", limit=2).json()["next"] is None


def test_requests_after_an_id_are_listed(control: Control) -> None:
    last = chat().headers["x-mockllm-request"]
    empty_page = control.get("requests", after=last).json()
    assert (empty_page["requests"], empty_page["next"]) == ([], None)
    new = chat().headers["x-mockllm-request"]
    assert texts_of(control.get("requests", after=last).json()) == [new]


def test_default_page_has_a_hundred_requests(control: Control) -> None:
    chat()
    row = ServedRequest.objects.get() if control.get("requests") else None
    assert row is not None
    rows = []
    for _ in range(104):
        row.pk, row.uid = None, uuid4()
        rows.append(ServedRequest(**_values(row)))
    ServedRequest.objects.bulk_create(rows)
    page = control.get("requests").json()
    assert (len(page["requests"]), page["next"]) == (100, page["requests"][-1]["id"])
    assert len(control.get("requests", limit=1000).json()["requests"]) == 105


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"limit": "0"}, (400, "VALIDATION_ERROR", "limit")),
        ({"limit": "1001"}, (400, "VALIDATION_ERROR", "limit")),
        ({"limit": "-1"}, (400, "VALIDATION_ERROR", "limit")),
        ({"limit": "ten"}, (400, "VALIDATION_ERROR", "limit")),
        ({"limit": "1.0"}, (400, "VALIDATION_ERROR", "limit")),
        ({"limit": "9" * 5_000}, (400, "VALIDATION_ERROR", "limit")),
        ({"matched": "yes"}, (400, "VALIDATION_ERROR", "matched")),
        ({"after": "nobody"}, (400, "VALIDATION_ERROR", "after")),
        ({"after": UNKNOWN_ID}, (404, "NOT_FOUND", "after")),
        ({"sesion": "x"}, (400, "VALIDATION_ERROR", "sesion")),
        ({"session": "a\0b"}, (400, "VALIDATION_ERROR", "session")),
        ({"provider": "a\0b"}, (400, "VALIDATION_ERROR", "provider")),
    ],
)
def test_invalid_query_is_rejected(
    control: Control, query: dict[str, str], expected: tuple[int, str, str]
) -> None:
    assert error_of(control.get("requests", **query)) == expected


def test_repeated_parameter_is_rejected(control: Control) -> None:
    response = control.request("GET", "requests?session=a&session=b")
    assert error_of(response) == (400, "VALIDATION_ERROR", "session")


def test_deleting_empties_the_journal_and_leaves_the_state(control: Control) -> None:
    control.post("scenarios", scenario("once"))
    chat(key="sk-one")
    chat(key="sk-two")
    response = control.delete("requests", session="sk-one")
    assert (response.status_code, response.content) == (204, b"")
    (remaining_entry,) = control.get("requests").json()["requests"]
    assert remaining_entry["session"] == key_session("sk-two")
    assert control.delete("requests").status_code == 204
    assert control.get("requests").json()["requests"] == []
    assert len(control.get("state", session="sk-one").json()["consumed"]) == 1


def test_a_misspelt_session_deletes_nothing(control: Control) -> None:
    chat()
    assert error_of(control.delete("requests", sesion="x")) == (400, "VALIDATION_ERROR", "sesion")
    assert len(control.get("requests").json()["requests"]) == 1


def test_a_page_is_read_without_its_bodies(
    control: Control, django_assert_max_num_queries: object
) -> None:
    for _ in range(10):
        chat()
    control.get("requests")
    with django_assert_max_num_queries(2) as query_log:
        control.get("requests")
    assert not any("request_text" in query["sql"] for query in query_log.captured_queries)


def _values(row: ServedRequest) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
