"""Reports of simulated conversations: text, JSON and JUnit cases."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scenarios_app.engine.scripted_user import Checkpoint
from scenarios_app.simulate.conversation import ModelSide, SimulatedConversation, call_json
from scenarios_app.verdict.reports import Case, line


def failed_reasons(checkpoints: Iterable[Checkpoint]) -> list[str]:
    """Return the reason of each failed checkpoint."""
    return [
        f"no answer: {checkpoint.actual}"
        if checkpoint.name == "answer"
        else f"{checkpoint.label}: {checkpoint.expected}; got {checkpoint.actual}"
        for checkpoint in checkpoints
        if not checkpoint.ok
    ]


def text_report(conversations: Sequence[SimulatedConversation]) -> str:
    """Return the transcripts with the failed checkpoints."""
    lines: list[str] = []
    for conversation in conversations:
        lines.append(f"{'ok' if conversation.passed else 'FAILED'}  {line(conversation.name)}")
        for number, turn in enumerate(conversation.simulation.turns, 1):
            lines.append(f"  {number}. user   {line(turn.say)}")
            for call in turn.calls:
                lines.append(f"     call   {line(f'{call.full_name} {call.arguments}')}")
            if turn.answer is not None:
                lines.append(f"     agent  {line(turn.answer)}")
            lines += _failed_lines(turn.checkpoints)
        lines += _failed_lines(conversation.simulation.checkpoints)
        if conversation.model is not None:
            lines.append(f"  requests of the agent: {len(conversation.model.requests)}")
            if not conversation.model.verdict["passed"]:
                lines += [
                    f"    {reason}" for reason in conversation.model.verdict["text"].splitlines()
                ]
        lines.append(f"  receipt {conversation.receipt}")
    passed = sum(conversation.passed for conversation in conversations)
    failed = len(conversations) - passed
    lines.append(f"conversations: {len(conversations)}, passed: {passed}, failed: {failed}")
    return "\n".join(lines)


def _failed_lines(checkpoints: Iterable[Checkpoint]) -> Iterator[str]:
    """Yield the reasons of failed checkpoints as indented lines of the text report."""
    for reason in failed_reasons(checkpoints):
        first, *others = reason.splitlines()
        yield f"     FAILED {first}"
        yield from (f"            {other}" for other in others)


def json_report(conversations: Sequence[SimulatedConversation]) -> dict[str, Any]:
    """Return the conversations as JSON. Equal ones have equal JSON: it has no times and no ids."""
    return {
        "passed": all(conversation.passed for conversation in conversations),
        "conversations": [_conversation_json(conversation) for conversation in conversations],
    }


def _conversation_json(conversation: SimulatedConversation) -> dict[str, Any]:
    simulation = conversation.simulation
    turns = [
        {
            "turn": turn.number,
            "user": turn.say,
            "agent": turn.answer,
            "calls": [call_json(call) for call in turn.calls],
            "checkpoints": [_checkpoint_json(checkpoint) for checkpoint in turn.checkpoints],
        }
        for turn in simulation.turns
    ]
    return {
        "name": conversation.name,
        "passed": conversation.passed,
        "turns": turns,
        "checkpoints": [_checkpoint_json(checkpoint) for checkpoint in simulation.checkpoints],
        "model": conversation.model and _model_json(conversation.model),
        "receipt": conversation.receipt,
    }


def _checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    name, expected, actual = checkpoint.name, checkpoint.expected, checkpoint.actual
    return {"name": name, "expected": expected, "got": actual, "ok": checkpoint.ok}


def _model_json(model: ModelSide) -> dict[str, Any]:
    verdict = model.verdict
    keys = ("provider", "path", "scenario", "step", "status", "outcome")
    return {
        "passed": verdict["passed"],
        "unmatched": [request["path"] for request in verdict["unmatched"]],
        "violations": [violation["text"] for violation in verdict["violations"]],
        "findings": [finding["rule"] for finding in verdict["findings"]],
        "requests": [{key: entry[key] for key in keys} for entry in model.requests],
        "receipt": verdict["receipt"],
    }


def junit_cases(conversations: Iterable[SimulatedConversation]) -> Iterator[Case]:
    """Yield a JUnit case for each turn, and one for the whole conversation."""
    for conversation in conversations:
        for number, turn in enumerate(conversation.simulation.turns, 1):
            reasons = tuple(failed_reasons(turn.checkpoints))
            yield Case(conversation.name, f"{number}. {line(turn.say)}", reasons)
        yield Case(
            conversation.name,
            "conversation",
            tuple(failed_reasons(conversation.simulation.checkpoints)),
        )
