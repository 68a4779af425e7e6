"""Reads recorded exchanges of the Responses API, for rules on what clients have to send again."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from scenarios_app.wire.decoded import parse_events, parse_json

_NOT_FOUND = "previous_response_not_found"
_WHOLE = frozenset({"response.completed", "response.incomplete"})


class RecordedTurn(msgspec.Struct, frozen=True):
    """One exchange. `inputs` are entries such as `user TEXT` and `output CALL_ID`.

    `calls` are the tools' names by call id, if all of the response was streamed. `is_refused` is
    true if the server does not know the previous response. Ids are empty where there are none.
    """

    inputs: frozenset[str]
    previous_response: str = ""
    response: str = ""
    calls: Mapping[str, str] = {}
    is_refused: bool = False


def read_turn(request_body: str, response_body: str) -> RecordedTurn | None:
    """Return an exchange as a turn, or None if its request is not one of this API. Responses that
    were not streamed are not read."""
    body = parse_json(request_body)
    if not isinstance(body, dict) or "input" not in body:
        return None
    previous = body.get("previous_response_id")
    response, calls = "", {}
    for event in parse_events(response_body.encode()):
        match event:
            case {"type": str(kind), "response": {"id": str(response), "output": list(items)}}:
                calls = dict(_read_calls(items)) if kind in _WHOLE else {}
    return RecordedTurn(
        frozenset(_describe_inputs(body["input"])),
        previous if isinstance(previous, str) else "",
        response,
        calls,
        is_refused=_NOT_FOUND in response_body,
    )


def output_of(call_id: str) -> str:
    """Return the entry of `RecordedTurn.inputs` for a call's output."""
    return f"output {call_id}"


def _describe_inputs(items: Any) -> Iterator[str]:
    """Yield an entry for each user message and tool output; turns are compared by these."""
    if isinstance(items, str):
        yield f"user {items}"
    for item in items if isinstance(items, list) else ():
        match item:
            case {"type": str(kind), "call_id": str(call_id)} if kind.endswith("_output"):
                yield output_of(call_id)
            case {"role": "user", "content": str(text)}:
                yield f"user {text}"
            case {"role": "user", "content": list(parts)}:
                yield "user " + "".join(
                    str(part.get("text", "")) for part in parts if isinstance(part, dict)
                )


def _read_calls(items: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the id and name of each call of a tool."""
    for item in items:
        match item:
            case {"call_id": str(call_id), "name": str(name)}:
                yield call_id, name
