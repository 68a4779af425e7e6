"""The stage at which each fault strikes, and the errors of faults."""

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

STREAM_STAGES: dict[str, FaultStage] = {
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
WHOLE_ANSWER_STAGES: dict[str, FaultStage] = {
    **STREAM_STAGES,
    "malformed_chunk": "malformed",
    "error_event": "error",
}


def test_tables_of_stages_name_every_fault_kind() -> None:
    assert list(STREAM_STAGES) == list(WHOLE_ANSWER_STAGES) == list(FAULT_KINDS)
    assert [kind.name for kind in FAULT_KINDS.values() if kind.inside] == list(STREAM_STAGES)[10:]


@pytest.mark.parametrize("kind", STREAM_STAGES)
def test_stage_of_a_fault_in_a_stream(kind: str) -> None:
    assert fault_stage_of(Fault(kind), stream=True) == STREAM_STAGES[kind]


@pytest.mark.parametrize("kind", WHOLE_ANSWER_STAGES)
def test_stage_of_a_fault_in_a_whole_answer(kind: str) -> None:
    assert fault_stage_of(Fault(kind), stream=False) == WHOLE_ANSWER_STAGES[kind]


def test_only_faults_with_hold_ms_hold_the_connection() -> None:
    assert silence_ms(Fault("timeout")) == 30_000
    assert silence_ms(Fault("timeout", hold_ms=5)) == 5
    assert silence_ms(Fault("no_pong", hold_ms=5)) == 5
    assert silence_ms(Fault("network_error", hold_ms=5)) == 0


def test_error_has_all_fields_of_the_fault() -> None:
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


def test_rate_limit_is_a_429_with_a_retry_delay() -> None:
    error = fault_error(Fault("rate_limit"))
    assert (error.status, error.limited, error.retry_after_ms) == (429, True, 1000)
    assert fault_error(Fault("rate_limit", retry_after_ms=0)).retry_after_ms == 0


def test_provider_error_fills_fields_that_the_fault_omits() -> None:
    provider_errors = {
        "overloaded": ErrorAnswer(529, "Overloaded", "own_type", "own_code", retryable=True)
    }
    error = fault_error(Fault("overloaded"), provider_errors)
    assert error == ErrorAnswer(529, "Overloaded", "own_type", "own_code", retryable=True)
    keys = {"message": "Busy", "type": "t", "code": "c", "retryable": False}
    assert fault_error(Fault("overloaded", **keys), provider_errors) == ErrorAnswer(529, **keys)


def test_provider_without_an_own_error_gets_the_status_of_the_kind() -> None:
    assert fault_error(Fault("overloaded")) == ErrorAnswer(503, "Simulated overload.")
    assert fault_error(Fault("rate_limited")) == fault_error(Fault("rate_limit"))


@pytest.mark.parametrize("kind", ["http", "model_error", "error_event"])
def test_other_error_is_a_500_without_retry_fields(kind: str) -> None:
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
def test_message_is_the_scripted_one_or_names_the_simulated_error(
    fault: Fault, message: str
) -> None:
    assert fault_error(fault).message == message


def test_added_fault_strikes_and_has_the_errors_of_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone_kind = FaultKind("gone", "gone (410)", "gone", stream="error_event", status=410)
    monkeypatch.setitem(FAULT_KINDS, "gone", gone_kind)
    assert FAULT_KINDS["gone"].inside
    assert fault_stage_of(Fault("gone"), stream=True) == "inside"
    assert fault_stage_of(Fault("gone"), stream=False) == "error"
    error = fault_error(Fault("gone"))
    assert (error.status, error.message) == (410, "Simulated failure: Gone.")
    assert silence_ms(Fault("gone")) == 0
