"""The `mockllm` object of a test: stubs of responses, requests, verification and recording.

mockllm.on("weather").tool_call("get_weather", city="Paris")
mockllm.on(tool_result="sunny").reply("It is sunny in Paris.")
mockllm.on("joke").fail("overloaded", times=2).reply("Knock, knock.")
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mockllm_site.kit.keywords import suggest_names
from scenarios_app.engine.state import key_session
from scenarios_app.testing.control import CallRejected, Control, scenario_path

# Conditions in the name of a step are cut after this.
MAX_NAME_CHARS = 60
# Steps that a stub writes have no place in the test.
_STEP_PLACE = re.compile(r"\bsteps\[\d+\]\.")


@suggest_names
@dataclass
class Stub:
    """A step of a test, begun with `mockllm.on(…)`. Failures come first, each once. The other
    methods add to one response, which is repeated unless `once` was given."""

    _mockllm: "Mockllm"
    name: str
    _call: str
    _match: Mapping[str, Any]
    _turn: int | None
    _once: bool
    _failures: list[dict[str, Any]] = field(default_factory=list)
    _answer: dict[str, Any] = field(default_factory=dict)

    def reply(self, text: str | None = None, **answer: Any) -> Self:
        """Respond with a text, or with `json=` and a value for structured output; keywords are keys
        of `produce`, e.g. `latency_ms`. Raises TypeError without any."""
        __tracebackhide__ = True
        if text is None and not answer:
            raise TypeError("give the reply a text, json= or another key of produce")
        return self.respond(answer if text is None else {"text": text, **answer})

    def tool_call(
        self, name: str, input: str | None = None, namespace: str | None = None, /, **arguments: Any
    ) -> Self:
        """Add a tool call, with arguments or a custom tool's `input`; TypeError for both."""
        __tracebackhide__ = True
        if input is not None and arguments:
            raise TypeError("give the tool call an input or arguments, not both")
        call: dict[str, Any] = {"name": name}
        call |= {"arguments": arguments} if input is None else {"input": input}
        if namespace is not None:
            call["namespace"] = namespace
        return self.respond({"tool_calls": [*self._answer.get("tool_calls", ()), call]})

    def fail(self, status: int | str, times: int = 1, retry_after_ms: int | None = None) -> Self:
        """Respond with an HTTP error in the provider's envelope, or with a kind of fault such as
        `overloaded`, this many times, first."""
        __tracebackhide__ = True
        fault: dict[str, Any] = {"kind": status}
        if isinstance(status, int):
            fault = {"kind": "http", "status": status}
        if retry_after_ms is not None:
            fault["retry_after_ms"] = retry_after_ms
        self._failures += [{"fault": fault}] * times
        return self._load_steps()

    def respond(self, produce: Mapping[str, Any]) -> Self:
        """Add keys of a step's `produce` to the response."""
        __tracebackhide__ = True
        self._answer |= produce
        return self._load_steps()

    @property
    def is_empty(self) -> bool:
        """True if neither a failure nor an answer is set yet."""
        return not self._failures and not self._answer

    def _load_steps(self) -> Self:
        """Load the stub as a scenario of the test's session: failures first, then the answer."""
        __tracebackhide__ = True
        self._mockllm._check_order(self)
        steps = [self._build_step(produce, consume=True) for produce in self._failures]
        if self._answer:
            steps.append(self._build_step(self._answer, consume=self._once))
        try:
            self._mockllm._load_scenario({"name": self.name, "steps": steps})
        except CallRejected as error:
            raise CallRejected(_STEP_PLACE.sub("", error.reason), place=self._call) from None
        return self

    def _build_step(self, produce: Mapping[str, Any], *, consume: bool) -> dict[str, Any]:
        """Return the step document of one answer, with the stub's conditions."""
        turn = {} if self._turn is None else {"turn": self._turn}
        return {**turn, "match": self._match, "consume": consume, "produce": produce}


@suggest_names
class Mockllm:
    """The session of one test on a server, which no other test shares. Methods raise ServerFailed
    if the server rejects a call; the message names the path."""

    def __init__(self, control: Control, api_key: str) -> None:
        self.base_url = control.base_url
        self.openai_base_url = f"{control.base_url}/v1"
        self.api_key = api_key
        self._control = control
        # The name in the control API and the journal.
        self.session = key_session(api_key)
        self._stubs: list[Stub] = []

    def on(
        self,
        text: str | None = None,
        *,
        tool_result: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        tools: Sequence[str] | None = None,
        turn: int | None = None,
        once: bool = False,
    ) -> Stub:
        """Begin a stub that responds if all of these conditions hold. Since the last response a
        user message contains `text`, or a tool result `tool_result` (ignoring case); `model` and
        `provider` are equal; all `tools` are offered; the response is number `turn`. Of several
        matching stubs the first one responds."""
        match = build_match(text, tool_result, model=model, provider=provider, tools=tools)
        keys = {"tool_result": tool_result, "model": model, "provider": provider, "tools": tools}
        call = _format_call("on", text, **keys, turn=turn)
        number = f"{len(self._stubs) + 1:02}"
        # The names of equal steps decide, so number 100 has to follow 99 in their order.
        number = "~" * (len(number) - 2) + number
        self._stubs.append(Stub(self, f"{number} {call}", call, match, turn, once))
        return self._stubs[-1]

    def scenario(self, *documents: Mapping[str, Any] | Any) -> None:
        """Load scenarios for this test only: documents, builders, or paths of files."""
        __tracebackhide__ = True
        if not all(isinstance(document, Mapping) and "steps" in document for document in documents):
            # Imported here because it imports the whole engine.
            from scenarios_app.testing.documents import to_documents

            documents = tuple(to_documents(documents))
        for document in documents:
            self._load_scenario(document)

    def simulate(
        self, scenario: Mapping[str, Any] | Any, *, agent: Callable[[str], str]
    ) -> dict[str, Any]:
        """Let the scripted user of a scenario talk to `agent`, which gets a message and returns its
        answer. The scenario is loaded for this test, unless it is the name of one on the server.
        Return the report; raise AssertionError with the transcript if a checkpoint fails, and
        ValueError without a scripted user."""
        __tracebackhide__ = True
        # Imported here because they import the whole engine.
        from scenarios_app.engine.document import load_documents
        from scenarios_app.simulate.conversation import scripts_of, simulate
        from scenarios_app.simulate.report import json_report, text_report
        from scenarios_app.testing.documents import to_documents

        if isinstance(scenario, str) and not Path(scenario).exists():
            documents = [self._control.send("GET", scenario_path(scenario))]
        else:
            documents = to_documents(scenario)
            self.scenario(*documents)
        scripts = scripts_of(load_documents(documents))
        if not scripts:
            raise ValueError("no scenario has a scripted user; add the key user")
        results = [simulate(name, script, agent, session=self) for name, script in scripts.items()]
        if not all(result.passed for result in results):
            raise AssertionError(text_report(results))
        return json_report(results)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return `/control/requests/ID` of this test's requests, in the order of their ends."""
        lines = self._control.journal(self.session)
        return [self._control.send("GET", f"requests/{line['id']}") for line in lines]

    @property
    def counters(self) -> dict[str, int]:
        """Return the counters of this test's session."""
        return self._control.send("GET", "state", session=self.session)["counters"]

    def reset(self) -> None:
        """Reset this test's requests, counters and consumed steps; the steps stay."""
        self._control.send("POST", "reset", {"session": self.session, "scenarios": False})

    def verify(
        self,
        text: str | None = None,
        *,
        times: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        tool_result: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        tools: Sequence[str] | None = None,
    ) -> None:
        """Raise AssertionError unless this many requests match the conditions, those of `on`. Give
        one number; without it, `at_least` is 1."""
        __tracebackhide__ = True
        counts = {"equals": times, "at_least": at_least, "at_most": at_most}
        count = {key: number for key, number in counts.items() if number is not None}
        count = count or {"at_least": 1}
        match = build_match(text, tool_result, model=model, provider=provider, tools=tools)
        body = {"session": self.session, "match": match, "count": count}
        verified = self._control.send("POST", "verify", body)
        if not verified["passed"]:
            keys = {"model": model, "provider": provider, "tools": tools}
            call = _format_call("verify", text, tool_result=tool_result, **keys)
            raise AssertionError("\n".join(_mismatch_lines(call, count, verified)))

    def record(
        self, mode: str, *, name: str, cassette: Mapping[str, Any] | None, keys: Mapping[str, str]
    ) -> None:
        """Start recording requests that no step answers; mode `none` only replays the cassette.
        `keys` are API keys by provider, sent upstream in place of `api_key`."""
        options = {"session": self.session, "mode": mode, "name": name, "keys": dict(keys)}
        cassettes = [] if cassette is None else [cassette]
        self._control.send("PUT", "recording", {**options, "cassettes": cassettes})

    def end_recording(self) -> Any:
        """Stop recording; return the result of DELETE `/control/recording`."""
        return self._control.send("DELETE", "recording", session=self.session)

    def empty_stubs(self) -> list[str]:
        """Return the calls of `on` without a response or failure."""
        return [stub._call for stub in self._stubs if stub.is_empty]

    def stub_names(self) -> list[str]:
        """Return the names of this test's stubs, which are those of their scenarios."""
        return [stub.name for stub in self._stubs]

    def verdict(self, *, allow_unserved: bool = False, scenarios: Iterable[str] = ()) -> Any:
        """Return `/control/verdict` of this test. Its steps and shared `scenarios` must answer."""
        return self._control.send(
            "GET",
            "verdict",
            session=self.session,
            scenarios=json.dumps([*scenarios]),
            allow_unserved="*" if allow_unserved else None,
        )

    def shared_scenario_names(self) -> list[str]:
        """Return the names of the server's scenarios, which all tests share."""
        scenarios = self._control.send("GET", "scenarios")["scenarios"]
        return [str(scenario["name"]) for scenario in scenarios]

    def _check_order(self, stub: Stub) -> None:
        """Raise ValueError if one of two equal stubs answers every time, and the other is later."""
        __tracebackhide__ = True
        conditions = (stub._match, stub._turn)
        equal = [stub for stub in self._stubs if (stub._match, stub._turn) == conditions]
        equal = [stub for stub in equal if not stub.is_empty]
        first = next((stub for stub in equal if stub._answer and not stub._once), None)
        if first is not None and equal[-1] is not first:
            raise ValueError(
                f"{equal[-1].name} never answers: {first.name} has the same conditions and answers "
                "every time. With once=True the first answers once, then the next; or remove one."
            )

    def _load_scenario(self, document: Mapping[str, Any]) -> None:
        """Load a scenario for this session in place of one of its name."""
        __tracebackhide__ = True
        name = str(document.get("name") or "unnamed")
        try:
            self._control.send("PUT", scenario_path(name), document, session=self.session)
        except CallRejected as error:
            raise CallRejected(error.reason, place=name) from None


def build_match(
    text: str | None = None,
    tool_result: str | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    tools: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the `match` of a step for these conditions; texts are contained, ignoring case."""
    texts = {"user": text, "tool": tool_result}
    messages = [
        {"role": role, "which": "new", "contains": part, "ignore_case": True}
        for role, part in texts.items()
        if part is not None
    ]
    names = [tools] if isinstance(tools, str) else list(tools or ())
    match = {"messages": messages, "model": model, "provider": provider, "tools": names}
    return {key: value for key, value in match.items() if value}


def _format_call(method: str, text: str | None, **keys: Any) -> str:
    """Return a call of `on` or `verify` as it was written, cut to MAX_NAME_CHARS inside."""
    arguments = [] if text is None else [repr(text)]
    arguments += [f"{key}={value!r}" for key, value in keys.items() if value is not None]
    return f"{method}({', '.join(arguments)[:MAX_NAME_CHARS]})"


def _mismatch_lines(
    call: str, count: Mapping[str, int], verified: Mapping[str, Any]
) -> Iterable[str]:
    """Yield the expected and the found number, and why the nearest requests do not match."""
    ((operator, number),) = count.items()
    adverb = operator.replace("_", " ").replace("equals", "exactly")
    noun = "request" if number == 1 else "requests"
    yield f"{call}: expected {adverb} {number} {noun}, got {verified['count']}"
    for near in verified["nearest"]:
        place = f"  nearest: {near['path']}"
        for miss in near["mismatches"]:
            yield f"{place}: {miss['field']}: expected {miss['expected']}, got {miss['actual']}"
    for request in verified["unjudged"]:
        yield f"  {request['id']}: cannot be judged: {request['reason']}"
