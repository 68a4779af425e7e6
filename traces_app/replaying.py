"""Scenario documents of what is stored: of one run, or of a conversation's runs in order."""

from typing import Any
from uuid import UUID

from traces_app.models import ModelCall, Status, Trace
from traces_app.to_scenario import CallRecord, CannotReplay, RunRecord, scenario_document

ANSWER = "answer"


def scenario_of_trace(trace: Trace) -> dict[str, Any]:
    """The document that plays this run again; raises CannotReplay."""
    name = f"trace-{str(trace.id)[:8]}"
    description = f"Recorded from the trace {trace.id}."
    return scenario_document(name, [_run(trace)], description=description)


def scenario_of_conversation(conversation_id: UUID) -> dict[str, Any]:
    """The document that plays a conversation's runs again, one after another; raises
    CannotReplay."""
    traces = list(
        Trace.objects.filter(conversation=conversation_id)
        .select_related("user_message")
        .order_by("started_at")
    )
    if any(trace.branch for trace in traces):
        raise CannotReplay("A conversation with comparisons cannot be replayed: take one trace.")
    if ModelCall.objects.filter(trace__in=traces).exclude(purpose=ANSWER).exists():
        raise CannotReplay("A conversation that was summarised cannot be replayed: take one trace.")
    name = f"conversation-{str(conversation_id)[:8]}"
    description = f"Recorded from the conversation {conversation_id}."
    return scenario_document(name, [_run(trace) for trace in traces], description=description)


def _run(trace: Trace) -> RunRecord:
    if trace.user_message is None:
        raise CannotReplay("The message that the run answered is gone.")
    return RunRecord(
        text=trace.user_message.content,
        status=trace.status,
        calls=[
            CallRecord(
                parts=call.parts,
                finish_reason=call.finish_reason,
                input_tokens=call.input_tokens,
                output_tokens=call.output_tokens,
                code=call.code,
                error=trace.error if call.code else "",
            )
            for call in trace.calls.filter(purpose=ANSWER).order_by("number")
        ],
        code=trace.code if trace.status == Status.FAILED else "",
        error=trace.error,
    )
