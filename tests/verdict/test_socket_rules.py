"""Rules on reconnects of the Responses API over WebSockets, tested with synthetic exchanges."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.journal_entry import Outcome
from scenarios_app.verdict.judge import RULES, judge
from scenarios_app.verdict.session import JudgedExchange, JudgedSession
from scenarios_app.verdict.socket_rules import MAX_RECONNECTS

NAMES = ("input-not-resent", "tool-output-lost", "too-many-reconnects")
CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
QUESTION = {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]}
NOT_FOUND = json.dumps({"error": {"code": "previous_response_not_found", "message": "unknown"}})
HTTP = ""


class Journal:
    """A journal of one session; each exchange takes a second."""

    def __init__(self) -> None:
        self.exchanges: list[JudgedExchange] = []
        self._ids = count(1)

    def add(
        self,
        connection: str,
        input: Any,
        *,
        response: str = "",
        calls: Sequence[Any] = (),
        previous: str | None = None,
        outcome: Outcome = "complete",
        is_known: bool = True,
        is_whole: bool = True,
    ) -> str:
        """Add an exchange and return its id."""
        number = next(self._ids)
        headers = {"upgrade": "websocket", "sec-websocket-key": connection} if connection else {}
        request: dict[str, Any] = {"model": "gpt-5", "store": False, "input": input}
        if previous is not None:
            request["previous_response_id"] = previous
        events: list[Any] = [
            {"type": "response.created", "response": {"id": f"resp_{response}", "output": []}}
        ]
        if is_whole:
            done = {"id": f"resp_{response}", "output": list(calls)}
            events.append({"type": "response.completed", "response": done})
        body = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
        self.exchanges.append(
            JudgedExchange(
                uid=f"request {number}",
                session="s",
                at=float(number),
                timings={"head_ms": 500.0},
                duration_ms=900.0,
                method="POST",
                path="/v1/responses",
                status=200 if is_known else 400,
                outcome=outcome,
                streamed=True,
                fault="close_socket" if outcome == "fault" else "",
                request_headers=headers,
                request_body=json.dumps(request),
                response_body=body if is_known else NOT_FOUND,
            )
        )
        return f"request {number}"

    def lose(self, connection: str, input: Any, **fields: Any) -> str:
        """Add an exchange whose connection ends in the middle of the response."""
        return self.add(connection, input, outcome="fault", is_whole=False, **fields)

    def findings(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return rule, request and all proving requests of each finding of these rules."""
        verdict = judge(JudgedSession("s", tuple(self.exchanges)))
        return [(f.rule, f.request, f.requests) for f in verdict.findings if f.rule in NAMES]


@pytest.fixture
def journal() -> Journal:
    return Journal()


def test_rules_are_in_the_verdict() -> None:
    assert [rule.name for rule in RULES][-3:] == list(NAMES)


def test_previous_response_of_another_connection_without_a_resend_is_reported(
    journal: Journal,
) -> None:
    first = journal.add("a", [QUESTION], response="1")
    stale = journal.add("b", "And now?", previous="resp_1", is_known=False)
    assert journal.findings() == [("input-not-resent", stale, (first, stale))]


def test_resend_of_a_part_of_the_input_is_reported(journal: Journal) -> None:
    journal.add("a", [QUESTION], response="1")
    journal.add("a", "Sure?", response="2", previous="resp_1")
    journal.add("b", "And now?", previous="resp_2", is_known=False)
    journal.add("b", [QUESTION, {"role": "user", "content": "And now?"}], response="3")
    assert [rule for rule, *_ in journal.findings()] == ["input-not-resent"]


@pytest.mark.parametrize("connection", ["b", "c", HTTP])
def test_resend_of_the_whole_input_is_no_finding(journal: Journal, connection: str) -> None:
    journal.add("a", [QUESTION], response="1")
    journal.add("a", "Sure?", response="2", previous="resp_1")
    journal.add("b", "And now?", previous="resp_2", is_known=False)
    texts = [{"role": "user", "content": text} for text in ("Sure?", "And now?")]
    answer = {"role": "assistant", "content": "Sunny."}
    journal.add(connection, [QUESTION, answer, *texts], response="3")
    assert journal.findings() == []


def test_unknown_previous_response_of_no_other_connection_is_no_finding(journal: Journal) -> None:
    journal.add("a", "Hi", response="1")
    journal.add("a", "Sure?", previous="resp_1", is_known=False)
    journal.add("b", "Sure?", previous="resp_9", is_known=False)
    assert journal.findings() == []


def test_stored_response_of_another_connection_is_no_finding(journal: Journal) -> None:
    journal.add("a", "Hi", response="1")
    journal.add("b", "Sure?", response="2", previous="resp_1")
    assert journal.findings() == []


def test_output_that_was_sent_before_the_loss_and_not_again_is_reported(journal: Journal) -> None:
    call = journal.add("a", [QUESTION], response="1", calls=[CALL])
    journal.lose("a", [OUTPUT], response="2", previous="resp_1")
    retry = journal.add("b", [QUESTION], response="3")
    assert journal.findings() == [("tool-output-lost", retry, (call, retry))]


def test_new_question_without_the_output_of_a_lost_call_is_reported(journal: Journal) -> None:
    call = journal.add("a", [QUESTION], response="1", calls=[CALL], outcome="fault")
    question = journal.add("b", [QUESTION, {"role": "user", "content": "Well?"}], response="2")
    assert journal.findings() == [("tool-output-lost", question, (call, question))]


def test_continued_call_without_its_output_is_reported(journal: Journal) -> None:
    call = journal.add("a", [QUESTION], response="1", calls=[CALL], outcome="fault")
    later = journal.add("b", "Well?", response="2", previous="resp_1")
    assert journal.findings() == [("tool-output-lost", later, (call, later))]


@pytest.mark.parametrize("connection", ["b", HTTP])
def test_output_that_is_sent_again_is_no_finding(journal: Journal, connection: str) -> None:
    journal.add("a", [QUESTION], response="1", calls=[CALL])
    journal.lose("a", [OUTPUT], response="2", previous="resp_1")
    journal.add(connection, [QUESTION, CALL, OUTPUT], response="3")
    assert journal.findings() == []


def test_output_that_was_answered_before_the_loss_is_no_finding(journal: Journal) -> None:
    journal.add("a", [QUESTION], response="1", calls=[CALL])
    journal.add("a", [OUTPUT], response="2", previous="resp_1")
    journal.lose("a", "Thanks", response="3", previous="resp_2")
    journal.add("b", [QUESTION, {"role": "user", "content": "Thanks"}], response="4")
    assert journal.findings() == []


def test_retry_of_the_question_of_a_call_is_no_finding(journal: Journal) -> None:
    journal.add("a", [QUESTION], response="1", calls=[CALL], outcome="fault")
    journal.add("b", [QUESTION], response="2")
    assert journal.findings() == []


@pytest.mark.parametrize("outcome", ["fault", "client_gone"])
def test_call_of_a_response_that_was_not_read_to_its_end_is_no_finding(
    journal: Journal, outcome: Outcome
) -> None:
    is_whole = outcome == "client_gone"
    journal.add("a", [QUESTION], response="1", calls=[CALL], outcome=outcome, is_whole=is_whole)
    journal.add("b", [QUESTION, {"role": "user", "content": "Well?"}], response="2")
    assert journal.findings() == []


def test_call_whose_conversation_ends_is_no_finding(journal: Journal) -> None:
    journal.add("a", [QUESTION], response="1", calls=[CALL])
    journal.lose("a", [OUTPUT], response="2", previous="resp_1")
    journal.add("b", "Another question", response="3")
    assert journal.findings() == []


def test_call_of_a_connection_that_was_not_lost_is_no_finding(journal: Journal) -> None:
    journal.add("a", [QUESTION], response="1", calls=[CALL])
    journal.add("b", [QUESTION, {"role": "user", "content": "Well?"}], response="2")
    assert journal.findings() == []


def test_reconnects_up_to_the_limit_are_no_finding(journal: Journal) -> None:
    for number in range(MAX_RECONNECTS):
        journal.lose(f"key {number}", "Hi", response=str(number))
    journal.add("last", "Hi", response="last")
    assert journal.findings() == []


@pytest.mark.parametrize("is_whole_at_last", [True, False])
def test_more_reconnects_than_the_limit_are_reported_once(
    journal: Journal, is_whole_at_last: bool
) -> None:
    lost = [
        journal.lose(f"key {number}", "Hi", response=str(number))
        for number in range(MAX_RECONNECTS + 1)
    ]
    add = journal.add if is_whole_at_last else journal.lose
    last = add("last", "Hi", response="last")
    add("later", "Hi", response="later")
    assert journal.findings() == [("too-many-reconnects", last, (*lost, last))]


def test_whole_answer_ends_a_row_of_reconnects(journal: Journal) -> None:
    for number in range(3 * MAX_RECONNECTS):
        journal.add(f"key {number}", f"Question {number}", response=f"{number}a")
        journal.lose(f"key {number}", f"Question {number + 1}", response=f"{number}b")
    assert journal.findings() == []


def test_connections_of_other_conversations_are_no_reconnects(journal: Journal) -> None:
    for number in range(3 * MAX_RECONNECTS):
        journal.lose(f"key {number}", f"Question {number}", response=str(number))
    assert journal.findings() == []


def test_reconnects_that_continue_a_response_are_counted(journal: Journal) -> None:
    for number in range(MAX_RECONNECTS + 2):
        previous = f"resp_{number - 1}" if number else None
        text = f"Question {number}"
        journal.lose(f"key {number}", text, response=str(number), previous=previous)
    assert [rule for rule, *_ in journal.findings()] == ["too-many-reconnects"]


def test_requests_over_http_alone_are_not_judged(journal: Journal) -> None:
    journal.add(HTTP, [QUESTION], response="1", calls=[CALL], outcome="fault")
    journal.add(HTTP, "Well?", previous="resp_1", is_known=False)
    assert journal.findings() == []


def test_requests_of_other_apis_beside_a_socket_are_passed_over(journal: Journal) -> None:
    journal.lose("a", "Hi", response="1")
    for body in ("", "[]", "{}", "no JSON"):
        journal.add(HTTP, "", response="2")
        journal.exchanges[-1] = replace(journal.exchanges[-1], request_body=body)
    assert journal.findings() == []
