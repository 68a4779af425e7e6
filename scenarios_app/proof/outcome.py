"""Judges one run of a sweep: how the program took the trouble."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scenarios_app.proof.plan import Cell
from scenarios_app.proof.program import ProgramRun
from scenarios_app.verdict.fault_kinds import ALTERED_TEXTS, Answer, Kind

# Outcomes with their meanings, best first.
OUTCOMES: Mapping[str, str] = {
    "survived": "the command ended as in the clean run",
    "loud": "the command failed",
    "silent": "the command passed, but the answer was lost or a protocol rule broken",
    "wrong": "the command passed, but shows a cut or refused answer",
    "hung": "the command did not end in time",
    "multiplied": "requests were repeated after a good answer",
    "unreached": "the change was not made in this run",
}
# Shorter texts can occur in any output by chance.
MIN_TEXT_CHARS = 4
MIN_PARTIAL_CHARS = 8
# Words in messages about any kind of error.
_GENERAL_SIGNS = (
    *("error", "exception", "traceback", "fail", "sorry", "could not", "couldn't", "cannot"),
    *("unable", "try again", "unavailable", "warning"),
)
# Words with which programs tell a model that its call is invalid.
_TOOL_SIGNS = ("invalid", "not valid", "not a valid", "unknown", "not available", "no such", "must")


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one run: its exit, its answers, its verdict, and its requests, each as a key
    and whether it got a good answer."""

    program: ProgramRun
    answers: Sequence[Answer]
    verdict: Mapping[str, Any]
    requests: Sequence[tuple[str, bool]] = ()
    transcript: Sequence[Mapping[str, Any]] = field(default=())


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome, one of the keys of OUTCOMES, and the reason for it."""

    outcome: str
    reason: str


def judge_run(cell: Cell, clean: Observation, run: Observation) -> Judgement:
    """Return how the program handled the trouble of a cell."""
    kind, program = cell.kind, run.program
    if program.hung:
        return Judgement("hung", "the command did not end in time")
    if not was_applied(run):
        return Judgement("unreached", "the program did not request this answer again")
    if repeated := _describe_repetition(clean, run):
        return Judgement("multiplied", repeated)
    if program.code:
        sign = _find_sign(program.output, clean.program.output, kind.signs)
        named = f"names it: {sign}" if sign else "does not name the trouble"
        return Judgement("loud", f"exit code {program.code}; its output {named}")
    return _judge_green(cell, clean, run)


def _judge_green(cell: Cell, clean: Observation, run: Observation) -> Judgement:
    """Judge a run that ended with exit code 0."""
    kind = cell.kind
    output, before = run.program.output, clean.program.output
    if (altered := ALTERED_TEXTS.get(kind.name)) and _contains_text(output, altered):
        return Judgement("wrong", f"shows the {kind.label} as an answer: {altered}")
    missing = [text for text in _shown_texts(clean) if not _contains_text(output, text)]
    for text in missing:
        if part := _partial_text(text, output, before):
            return Judgement("wrong", f"shows a part of an answer: {part}")
    if findings := list(_new_findings(kind, clean, run)):
        return Judgement("silent", findings[0])
    if result := _result_of_broken_call(cell, run):
        return Judgement(
            "silent", f"the result of this call names no error: {_shorten_to_line(result)}"
        )
    if not missing:
        return Judgement("survived", "")
    if sign := _find_sign(output, before, (*kind.signs, *_GENERAL_SIGNS)):
        return Judgement("survived", f"without the answer; the output says why: {sign}")
    return Judgement(
        "silent", f"not in the output, and nothing says why: {_shorten_to_line(missing[0])}"
    )


def was_applied(run: Observation) -> bool:
    """Return whether the run's change was applied."""
    return any(answer["change"] for answer in run.answers)


def _result_of_broken_call(cell: Cell, run: Observation) -> str:
    """Return the result that the program sent for a call that cannot be run, if it names no error;
    else an empty string."""
    place = cell.place
    of_session = {
        answer["number"]: answer for answer in run.answers if answer["session"] == place.session
    }
    struck, following = of_session.get(place.number), of_session.get(place.number + 1)
    if not cell.kind.breaks_call or struck is None or following is None:
        return ""
    results = following["results"]
    # A repeated request has the same results.
    if not results or results == struck["results"]:
        return ""
    signs = (*cell.kind.signs, *_GENERAL_SIGNS, *_TOOL_SIGNS)
    if any(result["is_error"] or _find_sign(result["text"], "", signs) for result in results):
        return ""
    return str(results[0]["text"])


def _describe_repetition(clean: Observation, run: Observation) -> str:
    """Return a text about a request that was sent again after a good answer; empty if none was."""
    usual = Counter(key for key, good in clean.requests if good)
    for key, times in Counter(key for key, good in run.requests if good).items():
        if times > max(usual[key], 1):
            return f"the same request got {times} good answers: {key.partition(' {')[0]}"
    return ""


def _new_findings(kind: Kind, clean: Observation, run: Observation) -> Iterator[str]:
    """Yield texts of unmatched requests, violations and findings of level error in a run that the
    clean run did not have, except for the kind's `own_rules`."""
    usual = {finding["rule"] for finding in clean.verdict["findings"]}
    for request in run.verdict["unmatched"][len(clean.verdict["unmatched"]) :]:
        yield f"a request that no step answered: {request['path']}"
    for violation in run.verdict["violations"][len(clean.verdict["violations"]) :]:
        yield f"violation: {_shorten_to_line(violation['text'])}"
    for finding in run.verdict["findings"]:
        rule = finding["rule"]
        if finding["level"] == "error" and rule not in usual and rule not in kind.own_rules:
            yield f"{rule}: {_shorten_to_line(finding['message'])}"


def _shown_texts(clean: Observation) -> list[str]:
    """Return the texts of answers that the program shows when nothing goes wrong."""
    texts = dict.fromkeys(answer["text"].strip() for answer in clean.answers)
    output = clean.program.output
    return [text for text in texts if len(text) >= MIN_TEXT_CHARS and _contains_text(output, text)]


def _partial_text(text: str, output: str, before: str) -> str:
    """Return the longest beginning of a text that is in the output, or an empty string if it is
    short or the clean run shows it outside the text."""
    flat, flat_output = _collapse_spaces(text), _collapse_spaces(output)
    length = bisect(range(1, len(flat)), False, key=lambda end: flat[:end] not in flat_output)
    part = flat[:length]
    # Text that the clean run also prints proves nothing.
    usual = part in _collapse_spaces(before).replace(flat, "")
    return "" if length < MIN_PARTIAL_CHARS or usual else _shorten_to_line(part)


def _find_sign(output: str, before: str, signs: Sequence[str]) -> str:
    """Return the first sign that is in the output and not in that of the clean run, or an empty
    string."""
    lower, usual = output.lower(), before.lower()
    return next((sign for sign in signs if sign in lower and sign not in usual), "")


def _contains_text(output: str, text: str) -> bool:
    return _collapse_spaces(text) in _collapse_spaces(output)


def _collapse_spaces(text: str) -> str:
    """Return the text with single spaces, since programs wrap lines."""
    return re.sub(r"\s+", " ", text).strip()


def _shorten_to_line(text: str) -> str:
    flat = _collapse_spaces(text)
    return flat if len(flat) <= 120 else f"{flat[:119]}…"


def first_difference(one: Observation, other: Observation) -> str:
    """Return the first difference of two clean runs in words; empty if they are equal."""
    if one.program.code != other.program.code:
        return f"exit code {one.program.code}, then {other.program.code}"
    runs = [_answers_by_place(run.answers) for run in (one, other)]
    for place in sorted(runs[0].keys() | runs[1].keys()):
        first, second = (run.get(place, "no answer") for run in runs)
        if first != second:
            session, number = place
            return f"answer {number} of session {session}: {first}, then {second}"
    return ""


def _answers_by_place(answers: Sequence[Answer]) -> dict[tuple[str, int], str]:
    """Return each answer in words, by session and number."""
    return {
        (answer["session"], answer["number"]): (
            f"{answer['scenario']}/{answer['step']}"
            f"{' streamed' if answer['stream'] else ''}: {_shorten_to_line(answer['text'])}"
            f"{' calls ' + ', '.join(answer['calls']) if answer['calls'] else ''}"
        )
        for answer in answers
    }
