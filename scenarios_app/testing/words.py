"""What a test says of its server in short words: on this, answer that.

mockllm.on("weather").tool_call("get_weather", city="Paris")
mockllm.on(tool_result="sunny").reply("It is sunny in Paris.")
mockllm.on("joke").fail(429, times=2).reply("Knock, knock.")
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from scenarios_app.engine.state import key_session
from scenarios_app.testing.control import Control, scenario_path

# What is said of a step in a message about it is cut after so many characters.
SHOWN = 60


@dataclass
class On:
    """A step of a test's own: what it answers, said with one word or several. Failures come first,
    each once; what the other words add is one answer, which comes every time, or `once`."""

    _mockllm: "Mockllm"
    _name: str
    _match: Mapping[str, Any]
    _turn: int | None
    _once: bool
    _failures: list[dict[str, Any]] = field(default_factory=list)
    _answer: dict[str, Any] = field(default_factory=dict)

    def reply(self, text: str, **answer: Any) -> Self:
        """A text; the keywords are further keys of `produce`, such as `latency_ms` or `usage`."""
        __tracebackhide__ = True
        return self.respond({"text": text, **answer})

    def tool_call(self, name: str, /, **arguments: Any) -> Self:
        """A call of a tool, beside what was said before it."""
        __tracebackhide__ = True
        call = {"name": name, "arguments": arguments}
        return self.respond({"tool_calls": [*self._answer.get("tool_calls", ()), call]})

    def fail(self, status: int, times: int = 1, retry_after_ms: int | None = None) -> Self:
        """An HTTP error in the provider's envelope, so many times before there is an answer."""
        __tracebackhide__ = True
        fault = {"kind": "http", "status": status}
        if retry_after_ms is not None:
            fault["retry_after_ms"] = retry_after_ms
        self._failures += [{"fault": fault}] * times
        return self._sent()

    def respond(self, produce: Mapping[str, Any]) -> Self:
        """An answer as a step's `produce` has it; what was said before stays beside it."""
        __tracebackhide__ = True
        self._answer |= produce
        return self._sent()

    @property
    def says_nothing(self) -> bool:
        return not self._failures and not self._answer

    @property
    def name(self) -> str:
        return self._name

    def _sent(self) -> Self:
        __tracebackhide__ = True
        steps = [self._step(produce, consume=True) for produce in self._failures]
        if self._answer:
            steps.append(self._step(self._answer, consume=self._once))
        self._mockllm._put({"name": self._name, "steps": steps})
        return self

    def _step(self, produce: Mapping[str, Any], *, consume: bool) -> dict[str, Any]:
        turn = {} if self._turn is None else {"turn": self._turn}
        return {**turn, "match": self._match, "consume": consume, "produce": produce}


class Mockllm:
    """One test's session on a server: its steps, its requests, and no other test's.

    Raises ServerFailed, which names the place, for what the server refuses.
    """

    def __init__(self, control: Control, api_key: str) -> None:
        self.base_url = control.base_url
        self.openai_base_url = f"{control.base_url}/v1"
        self.api_key = api_key
        self._control = control
        # As the control API and the journal name it.
        self.session = key_session(api_key)
        self._on: list[On] = []

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
    ) -> On:
        """A step that answers where all of this holds: the user says `text` (a part of it, in any
        letter case) or a tool's result has `tool_result` in it, since the model's last answer; the
        model and the provider, by name; tools that are offered; the number of the answer. Of steps
        that could answer, the one that was written first does."""
        match = match_of(text, tool_result, model=model, provider=provider, tools=tools)
        said = {
            "": text,
            "tool_result": tool_result,
            "model": model,
            "provider": provider,
            "tools": tools,
            "turn": turn,
        }
        given = [
            f"{key}={value!r}" if key else repr(value)
            for key, value in said.items()
            if value is not None
        ]
        name = f"{len(self._on) + 1:02} on({', '.join(given)[:SHOWN]})"
        self._on.append(On(self, name, match, turn, once))
        return self._on[-1]

    def scenario(self, *documents: Mapping[str, Any] | Any) -> None:
        """Scenarios of this test alone: documents, builders, or paths of files."""
        __tracebackhide__ = True
        if not all(isinstance(one, Mapping) and "steps" in one for one in documents):
            # Only here: to read files and builders takes all of the engine.
            from scenarios_app.testing.documents import documents_of

            documents = tuple(documents_of(documents))
        for document in documents:
            self._put(document)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """This test's requests with what was sent and answered, as `/control/requests/ID` has
        them, in the order in which answers ended."""
        lines = self._control.requests(self.session)
        return [self._control.send("GET", f"requests/{line['id']}") for line in lines]

    @property
    def counters(self) -> dict[str, int]:
        """The counters that this test's requests have moved."""
        state = self._control.send("GET", "state", session=self.session)
        counters: dict[str, int] = state["counters"]
        return counters

    def reset(self) -> None:
        """Forget this test's requests, counters, and what was used up. Steps stay."""
        self._control.send("POST", "reset", {"session": self.session, "scenarios": False})

    def verify(
        self,
        text: str | None = None,
        *,
        times: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        **match: Any,
    ) -> None:
        """Raise AssertionError unless there were so many requests with these conditions, those of
        `on`: without a number, one or more."""
        __tracebackhide__ = True
        counts = {"equals": times, "at_least": at_least, "at_most": at_most}
        count = {key: number for key, number in counts.items() if number is not None}
        body = {"session": self.session, "match": match_of(text, **match)}
        verified = self._control.send("POST", "verify", {**body, "count": count or {"at_least": 1}})
        if not verified["passed"]:
            raise AssertionError("\n".join(_unverified(count or {"at_least": 1}, verified)))

    def record(
        self,
        mode: str,
        *,
        name: str,
        cassette: Mapping[str, Any] | None,
        keys: Mapping[str, str],
    ) -> None:
        """Have what no step answers passed on and kept, or with mode `none` answered from the
        cassette alone. `keys` are sent upstream in place of `api_key`."""
        begun = {"session": self.session, "mode": mode, "name": name, "keys": dict(keys)}
        cassettes = [] if cassette is None else [cassette]
        self._control.send("PUT", "recording", {**begun, "cassettes": cassettes})

    def end_recording(self) -> Any:
        """What was recorded since then, as DELETE `/control/recording` has it."""
        return self._control.send("DELETE", "recording", session=self.session)

    def unsaid(self) -> list[str]:
        """Steps that were begun with `on` and have no answer."""
        return [one.name for one in self._on if one.says_nothing]

    def verdict(self, *, allow_unserved: bool = False, scenarios: Iterable[str] = ()) -> Any:
        """The verdict on this test as `/control/verdict` has it. Its own steps have to answer, and
        those of the common `scenarios` that are named."""
        return self._control.send(
            "GET",
            "verdict",
            session=self.session,
            scenarios=",".join(scenarios) or None,
            allow_unserved="*" if allow_unserved else None,
        )

    def common_names(self) -> list[str]:
        """The scenarios of the server that all tests have."""
        listed = self._control.send("GET", "scenarios")
        return [str(one["name"]) for one in listed["scenarios"]]

    def _put(self, document: Mapping[str, Any]) -> None:
        __tracebackhide__ = True
        name = document.get("name") or "unnamed"
        self._control.send("PUT", scenario_path(str(name)), document, session=self.session)


def match_of(
    text: str | None = None,
    tool_result: str | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    tools: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The `match` of a step for what is given."""
    said = {"user": text, "tool": tool_result}
    messages = [
        {"role": role, "which": "new", "contains": part, "ignore_case": True}
        for role, part in said.items()
        if part is not None
    ]
    listed = [tools] if isinstance(tools, str) else list(tools or ())
    match = {"messages": messages, "model": model, "provider": provider, "tools": listed}
    return {key: value for key, value in match.items() if value}


def _unverified(count: Mapping[str, int], verified: Mapping[str, Any]) -> Iterable[str]:
    ((how, number),) = count.items()
    wanted = f"{how.replace('_', ' ').replace('equals', 'exactly')} {number}"
    yield f"expected {wanted} such requests, there were {verified['count']}"
    for near in verified["nearest"]:
        for one in near["mismatches"]:
            yield f"  {near['path']}: {one['field']} wants {one['expected']}, got {one['actual']}"
    for one in verified["unjudged"]:
        yield f"  {one['id']}: cannot be told: {one['reason']}"
