"""Plays a scripted user against an agent, and adds what the mock saw of the model and its tools."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from scenarios_app.engine.document import DocumentError, ScenarioDocument, UserDocument
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scripted_user import Simulation
from scenarios_app.recording import RecordedRequest
from scenarios_app.recording.places import PlacedRequest, place_request


class AgentAnswer(NamedTuple):
    """The agent's answer to a user message, with the tool calls before it if it reports them."""

    text: str
    calls: tuple[ToolCallPart, ...] = ()


# Gets the user's message and returns the agent's answer; raises AgentFailed.
Agent: TypeAlias = Callable[[str], str | AgentAnswer]

RECEIPT_SCHEME = "sha256:"


class AgentFailed(Exception):
    """The agent gave no answer; the message says why."""


class Session(Protocol):
    """The session in which the agent's model requests are journaled, such as `Mockllm`."""

    @property
    def requests(self) -> list[dict[str, Any]]: ...

    def verdict(self, *, allow_unserved: bool) -> Any: ...


@dataclass(frozen=True, slots=True)
class ModelSide:
    """The journal entries of a session's model requests, in order, and the verdict on it."""

    requests: Sequence[Mapping[str, Any]]
    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SimulatedConversation:
    """A conversation of a scripted user. `model` is None without a session of the mock."""

    name: str
    simulation: Simulation
    model: ModelSide | None

    @property
    def passed(self) -> bool:
        """True if all checkpoints hold, whatever the verdict of the model's side."""
        return self.simulation.passed

    @property
    def receipt(self) -> str:
        """The hash of the user's messages, the agent's answers and calls, and the model receipt."""
        turns = [
            [turn.say, turn.answer, [call_json(call) for call in turn.calls]]
            for turn in self.simulation.turns
        ]
        text = json.dumps([turns, self.model and self.model.verdict["receipt"]], sort_keys=True)
        return RECEIPT_SCHEME + hashlib.sha256(text.encode()).hexdigest()


def scripts_of(documents: Iterable[ScenarioDocument]) -> dict[str, UserDocument]:
    """Return the scripted users by the name of their scenario; others are left out."""
    return {document.name: document.user for document in documents if document.user is not None}


def simulate(
    name: str, script: UserDocument, agent: Agent, *, session: Session | None
) -> SimulatedConversation:
    """Send the script's messages to the agent and return the conversation. `session` journals the
    agent's model requests, None if they are not known. AgentFailed ends the conversation as failed;
    an answer of another type raises TypeError."""
    simulation = Simulation(script)
    # A test may have asked the model before.
    seen = {call.id for call in finished_calls(session.requests)} if session else set()
    while (text := simulation.next_message()) is not None:
        try:
            answer = agent(text)
        except AgentFailed as error:
            simulation.fail(str(error))
            break
        if isinstance(answer, str):
            answer = AgentAnswer(answer)
        elif not isinstance(answer, AgentAnswer):
            raise TypeError(f"the agent returned {answer!r:.80}, expected its answer as a str")
        calls = finished_calls(session.requests) if session else []
        new_calls = [call for call in calls if call.id not in seen]
        simulation.add_answer(answer.text, [*answer.calls, *new_calls])
        seen = {call.id for call in calls}
    if session is None:
        return SimulatedConversation(name, simulation, None)
    model = ModelSide(session.requests, session.verdict(allow_unserved=True))
    return SimulatedConversation(name, simulation, model)


def finished_calls(entries: Iterable[Mapping[str, Any]]) -> list[ToolCallPart]:
    """Return the tool calls whose results the agent has sent back, in the order of the model's
    answers; `entries` are those of `/control/requests/ID`."""
    calls: dict[str, ToolCallPart] = {}
    results: set[str] = set()
    for entry in entries:
        sent = entry["request"]
        body = sent["body"].encode("utf-8", "replace")
        place = place_request(RecordedRequest(sent["method"], entry["path"], body=body))
        if place is None or place.request is None:
            continue
        for call in place.request.tool_calls:
            calls.setdefault(call.id, call)
        results |= {result.tool_call_id for result in place.request.tool_results}
        # A request that names an earlier response does not repeat its calls.
        for call in _calls_of_answer(place, entry):
            calls.setdefault(call.id, call)
    return [call for id, call in calls.items() if id in results]


def _calls_of_answer(place: PlacedRequest, entry: Mapping[str, Any]) -> Iterable[ToolCallPart]:
    """Yield the tool calls of a journaled answer; none of an error or an unknown API."""
    endpoint = place.target.endpoint
    if entry["status"] != 200 or endpoint is None or endpoint.decoder is None:
        return
    decoded = endpoint.decoder.decode(entry["response"]["body"].encode("utf-8", "replace"))
    for choice in decoded.choices[:1] if decoded else ():
        for call in (part["tool_call"] for part in choice.parts if "tool_call" in part):
            assert isinstance(call, dict)
            custom = "input" in call
            text = call["input"] if custom else json.dumps(call.get("arguments", {}))
            id, namespace = str(call.get("id", "")), str(call.get("namespace", ""))
            yield ToolCallPart(id, str(call["name"]), str(text), custom, namespace)


def call_json(call: ToolCallPart) -> dict[str, Any]:
    """Return a call's full name with its arguments, as text if `decode` refuses them, or with the
    input of a custom tool."""
    try:
        arguments = call.arguments if call.custom else decode(call.arguments.encode())
    except (DocumentError, UnicodeEncodeError):
        arguments = call.arguments
    return {"name": call.full_name, "input" if call.custom else "arguments": arguments}
