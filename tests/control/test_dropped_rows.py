"""Journal pages and responses state how many rows of a session were dropped."""

from collections.abc import Iterator
from threading import Event

import pytest
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.journal.dropped import DroppedRows
from tests.control.control_client import Control, chat, scenario, text_step


def test_losses_are_counted_by_session() -> None:
    losses = DroppedRows()
    losses.add("a")
    losses.add("b", 3)
    losses.add("a")
    assert [losses.of(name) for name in ("a", "b", "c", None)] == [2, 3, 0, 5]
    losses.forget("b")
    assert [losses.of(name) for name in ("a", "b", None)] == [2, 0, 2]
    losses.forget(None)
    assert losses.of(None) == 0


def test_losses_of_too_many_sessions_are_counted_in_total_only() -> None:
    losses = DroppedRows(max_sessions=2)
    for name in ("a", "b", "c"):
        losses.add(name)
    # Any session can be among those only counted in the sum.
    assert [losses.of(name) for name in ("a", "b", "c", "unknown", None)] == [1, 1, 1, 1, 3]


@pytest.mark.parametrize(
    ("lost_count", "beginning"), [(1, "1 request is"), (1234, "1,234 requests are")]
)
def test_page_shows_the_number_of_lost_requests(lost_count: int, beginning: str) -> None:
    losses = DroppedRows()
    assert losses.warning(None) == ""
    losses.add("a", lost_count)
    assert losses.warning("a").startswith(beginning)


@pytest.fixture
def lossy_session() -> Iterator[None]:
    journal.dropped_rows.add("lossy", 2)
    yield
    journal.dropped_rows.forget(None)


@pytest.mark.django_db
def test_control_api_counts_lost_requests_by_session_and_in_total(
    control: Control, lossy_session: None
) -> None:
    for name, lost_count in (("lossy", 2), ("whole", 0)):
        expected = {"complete": lost_count == 0, "lost": lost_count}
        for body in (
            control.get("requests", session=name).json(),
            control.get("state", session=name).json(),
            control.post("verify", {"session": name, "match": {}}).json(),
        ):
            assert {key: body[key] for key in expected} == expected
    assert control.get("requests").json()["lost"] == 2


@pytest.mark.django_db
def test_verify_at_most_fails_with_lost_requests(control: Control, lossy_session: None) -> None:
    request_body = {"session": "lossy", "match": {}, "count": {"at_most": 1}}
    assert control.post("verify", request_body).json()["passed"] is False
    request_body["count"] = {"at_most": 2}
    assert control.post("verify", request_body).json()["passed"] is True


@pytest.mark.django_db
@pytest.mark.parametrize("operation", ["reset", "delete"])
def test_emptying_the_journal_resets_lost_requests(
    control: Control, lossy_session: None, operation: str
) -> None:
    if operation == "reset":
        control.post("reset", {"session": "lossy"})
    else:
        control.delete("requests", session="lossy")
    assert control.get("requests", session="lossy").json()["complete"] is True


@pytest.mark.django_db
def test_requests_without_room_are_counted_as_lost(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.post("scenarios", scenario("s", text_step("Hi.", consume=False)))
    monkeypatch.setattr(journal, "_max_waiting_bytes", 0)
    chat()
    monkeypatch.undo()
    monkeypatch.setenv("MOCKLLM_LISTENING_ON", "127.0.0.1")
    journal_page = control.get("requests", session="sk-of-this-test").json()
    assert (journal_page["requests"], journal_page["complete"], journal_page["lost"]) == (
        [],
        False,
        1,
    )
    journal.dropped_rows.forget(None)


@pytest.mark.django_db
def test_lost_requests_of_a_full_journal_are_counted_by_session(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The database stores nothing, and the buffer has room for three requests only.
    control.post("scenarios", scenario("s", text_step("Hi.", consume=False)))
    assert journal.flush()
    store_released, store = Event(), journal._store
    monkeypatch.setattr(journal, "_store", lambda rows: store_released.wait(30) and store(rows))
    for i, name in enumerate(["a", "b", "whole", "b", "a", "c", "b"]):
        if i == 3:
            monkeypatch.setattr(journal, "_max_waiting_bytes", journal.waiting_bytes)
        assert chat(headers={"X-MockLLM-Session": name}).status_code == 200
    store_released.set()
    for name, stored_count, lost_count in (("a", 1, 1), ("b", 1, 2), ("c", 0, 1), ("whole", 1, 0)):
        journal_page = control.get("requests", session=name).json()
        assert (len(journal_page["requests"]), journal_page["complete"], journal_page["lost"]) == (
            stored_count,
            not lost_count,
            lost_count,
        )
    journal_page = control.get("requests").json()
    assert (len(journal_page["requests"]), journal_page["complete"], journal_page["lost"]) == (
        3,
        False,
        4,
    )
    journal.dropped_rows.forget(None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "url",
    [
        "/journal/",
        "/admin/scenarios_app/servedrequest/",
        "/admin/scenarios_app/servedrequest/sessions/",
        "/admin/scenarios_app/servedrequest/session/?name=lossy",
    ],
)
def test_journal_pages_show_lost_requests(
    admin_client: Client, lossy_session: None, url: str
) -> None:
    assert "2 requests are missing here" in admin_client.get(url, follow=True).content.decode()
    journal.dropped_rows.forget(None)
    assert "missing here" not in admin_client.get(url, follow=True).content.decode()
