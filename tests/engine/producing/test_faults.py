"""Which fault strikes how, and the errors that faults make."""

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing.faults import (
    FAULT_KINDS,
    FaultKind,
    FaultStage,
    fault_error,
    fault_stage_of,
    silence_ms,
)
from scenarios_app.engine.scenario import Fault

STREAM: dict[str, FaultStage] = {
    "http": "error",
    "rate_limit": "error",
    "rate_limited": "error",
    "overloaded": "error",
    "model_error": "error",
    "timeout": "silence",
    "network_error": "silence",
    "no_pong": "silence",
    "refuse_upgrade": "error",
    "invalid_response": "malformed",
    "disconnect": "inside",
    "close_socket": "inside",
    "truncate": "inside",
    "malformed_chunk": "inside",
    "stall": "inside",
    "error_event": "inside",
}
WHOLE: dict[str, FaultStage] = {**STREAM, "malformed_chunk": "malformed", "error_event": "error"}


def test_the_tables_name_every_kind() -> None:
    assert list(STREAM) == list(WHOLE) == list(FAULT_KINDS)
    assert [kind.name for kind in FAULT_KINDS.values() if kind.inside] == list(STREAM)[10:]


@pytest.mark.parametrize("kind", STREAM)
def test_how_a_fault_strikes_a_stream(kind: str) -> None:
    assert fault_stage_of(Fault(kind), stream=True) == STREAM[kind]


@pytest.mark.parametrize("kind", WHOLE)
def test_how_a_fault_strikes_a_whole_answer(kind: str) -> None:
    assert fault_stage_of(Fault(kind), stream=False) == WHOLE[kind]


def test_only_faults_with_hold_ms_hold_the_connection() -> None:
    assert silence_ms(Fault("timeout")) == 30_000
    assert silence_ms(Fault("timeout", hold_ms=5)) == 5
    assert silence_ms(Fault("no_pong", hold_ms=5)) == 5
    assert silence_ms(Fault("network_error", hold_ms=5)) == 0


def test_everything_scripted_is_in_the_error() -> None:
    fault = Fault(
        "http",
        status=418,
        message="short",
        type="teapot_error",
        code="stout",
        param="spout",
        body={"handle": 1},
        headers=(("x-tea", "1"),),
        retry_after_ms=70,
        retryable=False,
    )
    assert fault_error(fault) == ErrorAnswer(
        status=418,
        message="short",
        type="teapot_error",
        code="stout",
        param="spout",
        body={"handle": 1},
        headers=(("x-tea", "1"),),
        retry_after_ms=70,
        retryable=False,
        limited=False,
    )


def test_a_rate_limit_is_429_and_says_when_to_come_back() -> None:
    error = fault_error(Fault("rate_limit"))
    assert (error.status, error.limited, error.retry_after_ms) == (429, True, 1000)
    assert fault_error(Fault("rate_limit", retry_after_ms=0)).retry_after_ms == 0


def test_provider_error_fills_what_the_fault_leaves_open() -> None:
    own = {"overloaded": ErrorAnswer(529, "Overloaded", "own_type", "own_code", retryable=True)}
    error = fault_error(Fault("overloaded"), own)
    assert error == ErrorAnswer(529, "Overloaded", "own_type", "own_code", retryable=True)
    keys = {"message": "Busy", "type": "t", "code": "c", "retryable": False}
    assert fault_error(Fault("overloaded", **keys), own) == ErrorAnswer(529, **keys)


def test_provider_without_an_own_error_gets_the_status_of_the_kind() -> None:
    assert fault_error(Fault("overloaded")) == ErrorAnswer(503, "Simulated overload.")
    assert fault_error(Fault("rate_limited")) == fault_error(Fault("rate_limit"))


@pytest.mark.parametrize("kind", ["http", "model_error", "error_event"])
def test_other_errors_are_500_and_do_not_speak_of_retries(kind: str) -> None:
    error = fault_error(Fault(kind))
    assert (error.status, error.limited, error.retry_after_ms, error.retryable) == (
        500,
        False,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("http", status=404), "Simulated failure: Not Found."),
        (Fault("http", status=599), "Simulated failure: 599."),
        (Fault("rate_limit"), "Simulated rate limit."),
        (Fault("model_error"), "Simulated model error."),
        (Fault("error_event"), "Simulated error inside the stream."),
        (Fault("http", message=""), ""),
    ],
)
def test_the_message_is_the_scripted_one_or_says_what_is_simulated(
    fault: Fault, message: str
) -> None:
    assert fault_error(fault).message == message


def test_added_fault_strikes_and_has_the_errors_of_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = FaultKind("gone", "gone (410)", "gone", stream="error_event", status=410)
    monkeypatch.setitem(FAULT_KINDS, "gone", gone)
    assert FAULT_KINDS["gone"].inside
    assert fault_stage_of(Fault("gone"), stream=True) == "inside"
    assert fault_stage_of(Fault("gone"), stream=False) == "error"
    error = fault_error(Fault("gone"))
    assert (error.status, error.message) == (410, "Simulated failure: Gone.")
    assert silence_ms(Fault("gone")) == 0
