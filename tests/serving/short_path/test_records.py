"""Answers of the short path are counted and journalled in order before metrics are read."""

from collections.abc import Iterator
from typing import Any

import pytest

from scenarios_app.journal import Journal
from scenarios_app.serving import services as of_services
from scenarios_app.serving.fast import recent as of_recent
from scenarios_app.serving.fast.recent import RecentAnswers
from scenarios_app.serving.metrics import Served
from scenarios_app.serving.services import Services
from scenarios_app.verdict.metrics import merge_counts
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.short_path.connection import Connection

MATCHED = Served("openai", "complete", 2, "matched", streamed=False, fault="")
UNMATCHED = Served("openai", "unmatched", 4, "unmatched", streamed=False, fault="")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """The services of a process in test mode, with a separate journal."""
    journal = Journal()
    journal.unread = True
    for module in (of_services, of_recent):
        monkeypatch.setattr(module, "journal", journal)
    yield Services()


@pytest.fixture
def recent(services: Services) -> RecentAnswers:
    """The answers of the short path that are not counted yet."""
    recent = RecentAnswers(services.record_all)
    services.add_source(recent)
    return recent


async def connect_short_path(services: Services, recent: RecentAnswers) -> Connection:
    """Return a connection to a step that has answered once, so that it gets a template."""
    harness = Harness(scenario("s", text_step("Hi!", match={"model": "gpt-4o"})))
    harness.pipeline.record = services._record
    connection = Connection(harness, recent.add)
    await connection.ask(chat())
    return connection


def read_journal(services: Services) -> list[Any]:
    """Return the entries that wait to be read."""
    services.hand_over_records()
    return [item.record.entry() for item in of_services.journal._unread]


async def test_answers_of_the_short_path_are_counted_before_figures_are_read(
    services: Services, recent: RecentAnswers
) -> None:
    connection = await connect_short_path(services, recent)
    for _ in range(5):
        await connection.ask(chat())
    assert connection.short == 5
    assert services.tally.served() == {MATCHED: 6}
    assert services.tally.heads()["openai"].count == 6
    assert merge_counts([services.steps.to_message()]).served == {("s", "1"): 6}
    assert services.steps.to_message()["requests"] == 6


async def test_reset_of_a_session_includes_the_answers_before_it(
    services: Services, recent: RecentAnswers
) -> None:
    connection = await connect_short_path(services, recent)
    await connection.ask(chat(headers={"x-mockllm-session": "one"}))
    await connection.ask(chat(headers={"x-mockllm-session": "one"}))
    services.steps.forget_session("one")
    assert services.steps.served_in("one") == frozenset()


async def test_journal_has_all_answers_in_their_order(
    services: Services, recent: RecentAnswers
) -> None:
    connection = await connect_short_path(services, recent)
    texts = ["a", "b", "unmatched", "c", "d"]
    for text in texts:
        model = "other" if text == "unmatched" else "gpt-4o"
        await connection.ask(chat(text, model=model))
    assert connection.short == 4
    entries = read_journal(services)
    assert [entry.request_preview for entry in entries[1:]] == texts
    assert [entry.status for entry in entries[1:]] == [200, 200, 404, 200, 200]
    assert services.tally.served() == {MATCHED: 5, UNMATCHED: 1}


async def test_many_answers_are_derived_without_a_reader(
    services: Services, recent: RecentAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_recent, "BATCH_ROWS", 3)
    connection = await connect_short_path(services, recent)
    for _ in range(4):
        await connection.ask(chat())
    assert len(recent) == 1
    assert len(of_services.journal._unread) == 4


async def test_stop_hands_the_last_answers_to_the_journal(
    services: Services, recent: RecentAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_services.journal, "stop", lambda: True)
    connection = await connect_short_path(services, recent)
    await connection.ask(chat())
    services.stop()
    assert len(of_services.journal._unread) == 2
    assert len(recent) == 0


async def test_consumed_step_answers_one_request_of_a_session() -> None:
    once_step = text_step("Once.", consume=True, match={"model": "gpt-4o"})
    harness = Harness(scenario("s", once_step, text_step("Ever.", match={"model": "gpt-4o"})))
    connection = Connection(harness)
    for name in ("x", "y", "z"):
        call = chat(headers={"x-mockllm-session": name})
        answers = [await connection.ask(call) for _ in range(4)]
        assert [b"Once." in answer for answer in answers] == [True, False, False, False]
    assert connection.short > 4
    assert [len(state.consumed) for state in harness.state._states.values()] == [1, 1, 1]


async def test_scenario_of_a_session_answers_on_the_short_path() -> None:
    harness = Harness(scenario("s", text_step("Common.")))
    own = {"scenarios": [scenario("s", text_step("Own."))]}
    await harness.state.replace_scenarios("one", {"s": own}, revision=0)
    connection = Connection(harness)
    for _ in range(4):
        assert b"Own." in await connection.ask(chat(headers={"x-mockllm-session": "one"}))
        assert b"Common." in await connection.ask(chat())
    assert connection.short >= 2
