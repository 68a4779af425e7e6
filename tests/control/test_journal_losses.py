"""Whoever reads the journal of a session is told how many of its rows are missing."""

from collections.abc import Iterator
from threading import Event

import pytest
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.journal.dropped import DroppedRows
from tests.control.control_client import Control, chat, says, scenario


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


@pytest.mark.parametrize(("lost", "begins"), [(1, "1 request is"), (1234, "1,234 requests are")])
def test_page_shows_the_number_of_lost_requests(lost: int, begins: str) -> None:
    losses = DroppedRows()
    assert losses.warning(None) == ""
    losses.add("a", lost)
    assert losses.warning("a").startswith(begins)


@pytest.fixture
def lossy() -> Iterator[None]:
    journal.dropped_rows.add("lossy", 2)
    yield
    journal.dropped_rows.forget(None)


@pytest.mark.django_db
def test_control_api_counts_lost_requests_by_session_and_in_total(
    control: Control, lossy: None
) -> None:
    for name, lost in (("lossy", 2), ("whole", 0)):
        expected = {"complete": lost == 0, "lost": lost}
        for body in (
            control.get("requests", session=name).json(),
            control.get("state", session=name).json(),
            control.post("verify", {"session": name, "match": {}}).json(),
        ):
            assert {key: body[key] for key in expected} == expected
    assert control.get("requests").json()["lost"] == 2


@pytest.mark.django_db
def test_verify_at_most_fails_with_lost_requests(control: Control, lossy: None) -> None:
    asked = {"session": "lossy", "match": {}, "count": {"at_most": 1}}
    assert control.post("verify", asked).json()["passed"] is False
    asked["count"] = {"at_most": 2}
    assert control.post("verify", asked).json()["passed"] is True


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["reset", "delete"])
def test_emptying_the_journal_resets_lost_requests(control: Control, lossy: None, way: str) -> None:
    if way == "reset":
        control.post("reset", {"session": "lossy"})
    else:
        control.delete("requests", session="lossy")
    assert control.get("requests", session="lossy").json()["complete"] is True


@pytest.mark.django_db
def test_requests_without_room_are_counted_as_lost(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.post("scenarios", scenario("s", says("Hi.", consume=False)))
    monkeypatch.setattr(journal, "_most_bytes", 0)
    chat()
    monkeypatch.undo()
    monkeypatch.setenv("MOCKLLM_LISTENING_ON", "127.0.0.1")
    told = control.get("requests", session="sk-of-this-test").json()
    assert (told["requests"], told["complete"], told["lost"]) == ([], False, 1)
    journal.dropped_rows.forget(None)


@pytest.mark.django_db
def test_every_session_that_found_no_room_is_told_of_its_own(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that takes nothing, and room for the first three requests alone."""
    control.post("scenarios", scenario("s", says("Hi.", consume=False)))
    assert journal.flush()
    back, store = Event(), journal._store
    monkeypatch.setattr(journal, "_store", lambda rows: back.wait(30) and store(rows))
    for i, name in enumerate(["a", "b", "whole", "b", "a", "c", "b"]):
        if i == 3:
            monkeypatch.setattr(journal, "_most_bytes", journal.waiting_bytes)
        assert chat(headers={"X-MockLLM-Session": name}).status_code == 200
    back.set()
    for name, kept, lost in (("a", 1, 1), ("b", 1, 2), ("c", 0, 1), ("whole", 1, 0)):
        told = control.get("requests", session=name).json()
        assert (len(told["requests"]), told["complete"], told["lost"]) == (kept, not lost, lost)
    told = control.get("requests").json()
    assert (len(told["requests"]), told["complete"], told["lost"]) == (3, False, 4)
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
def test_journal_pages_show_lost_requests(admin_client: Client, lossy: None, url: str) -> None:
    assert "2 requests are missing here" in admin_client.get(url, follow=True).content.decode()
    journal.dropped_rows.forget(None)
    assert "missing here" not in admin_client.get(url, follow=True).content.decode()
