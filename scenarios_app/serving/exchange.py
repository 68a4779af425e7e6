"""Holds one call from its arrival to its journal entry."""

import math
import os
import time
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer, Json
from scenarios_app.engine.journal_entry import JournalEntry, Outcome, RawEntry
from scenarios_app.engine.matching.near_misses import NearMiss
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.producing.produce import Seed, make_seed
from scenarios_app.engine.state import is_key_session, key_session
from scenarios_app.serving.cors import guard_headers, merge_headers
from scenarios_app.serving.options import Options
from scenarios_app.serving.reply import SentReply
from scenarios_app.wire.base import Call, Headers, Wire
from scenarios_app.wire.registry import (
    Target,
    find_misplaced_target,
    find_target,
    unowned_target,
)

SESSION_HEADER = "x-mockllm-session"
DEFAULT_SESSION = "default"
# Marks an answer to a request that no scenario matched.
UNMATCHED_HEADER = ("x-mockllm-unmatched", "1")
# Names the fault or alteration that `/control/changes` put into an answer.
CHANGE_HEADER = "x-mockllm-change"
# Maximum length of a preview before secrets are masked; the journal stores less.
MAX_PREVIEW_CHARS = 1_000
# Longer session names are refused; the refusal is journalled under the beginning.
MAX_SESSION_CHARS = 200

# A wall clock that differs by more from the monotonic one was set anew.
MAX_STEP_SECONDS = 120.0

# Statuses of an unknown URL, and of a wrong method.
_NO_ENDPOINT = frozenset({404, 405})
_UPGRADE_REQUIRED = 426
_PROBES = frozenset({"HEAD", "OPTIONS"})
# Random bytes are drawn for this many ids at once: a system call for each is dear in virtual
# machines.
_UIDS_PER_DRAW = 256
_drawn_uids: list[str] = []
# A forked child must not repeat its parent's ids.
os.register_at_fork(after_in_child=_drawn_uids.clear)


def random_uid() -> str:
    """Return a random UUID (RFC 9562, version 4)."""
    try:
        return _drawn_uids.pop()
    except IndexError:
        uids = _draw_uids()
        # Other threads may draw now, too.
        _drawn_uids.extend(uids[1:])
        return uids[0]


def _draw_uids() -> list[str]:
    """Return new random UUIDs."""
    digits = os.urandom(16 * _UIDS_PER_DRAW).hex()
    return [_format_uid(digits[at : at + 32]) for at in range(0, len(digits), 32)]


def _format_uid(digits: str) -> str:
    """Return 32 random hex digits as a UUID, with the bits of its version and variant set."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def session_of(call: Call, key: str | None) -> str:
    """Return the session of a call: the session header, else the API key's stored name, else the
    default.

    A header that repeats the key names the key's session, so that the key is not shown anywhere. A
    header cannot name the session of another key, whose name the journal shows.
    """
    if call.session:
        return call.session
    header = call.headers.get(SESSION_HEADER, "").strip()
    if header and header != key and not is_key_session(header):
        return header[:MAX_SESSION_CHARS]
    return key_session(key) if key else DEFAULT_SESSION


class ArrivalClock:
    """Tells when a request arrives. Its Unix time ignores backward steps of the system's clock, up
    to MAX_STEP_SECONDS: a retry that waited would look early if the clock was set back meanwhile.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._lead = -math.inf

    def read(self) -> tuple[float, float, float]:
        """Return the time of arrival in Unix seconds, the time on the clock of `time.monotonic`,
        and the system's own Unix time, which may step back."""
        # In this order, a pause between the two calls cannot move the result forward.
        wall, steady = self._wall(), self._steady()
        if not 0 <= self._lead - (wall - steady) <= MAX_STEP_SECONDS:
            self._lead = wall - steady
        return self._lead + steady, steady, wall


arrival_clock = ArrivalClock()


class RequestHead(msgspec.Struct, eq=False):
    """The parsed head of a request: its endpoint, its session and whether it has an API key.
    `is_admitted` is set once the head has passed all checks."""

    target: Target
    session: str
    has_api_key: bool
    is_admitted: bool = False


def head_of(call: Call) -> RequestHead:
    """Return the parsed head of a call, also if no endpoint takes it."""
    target = find_target(call) or find_misplaced_target(call) or unowned_target(call)
    key = target.api_key(call)
    return RequestHead(target, session_of(call, key), has_api_key=key is not None)


class Exchange(msgspec.Struct):
    """One call with its decision and results.

    `ordinal` is 0 until the request is counted in its session. `created` is the time in the
    response, in Unix seconds. `at` is when it arrived, in Unix seconds, and `began` on the clock of
    `time.monotonic`. `passed` is true if the upstream answers. After `forget`, only `model` and
    `stream` remain of the request. `held_bytes` are taken from the allowance for large bodies until
    the entry is made.
    """

    call: Call
    head: RequestHead
    options: Options
    created: int
    ordinal: int = 0
    request: CanonicalRequest | None = None
    model: str = ""
    stream: bool = False
    decision: Decision | None = None
    # The names of the scenario and the step; empty without one.
    answered_by: tuple[str, str] = ("", "")
    computed: bool = False
    passed: bool = False
    streaming: bool = False
    uid: str = msgspec.field(default_factory=random_uid)
    at: float = 0.0
    began: float = 0.0
    decided_at: float | None = None
    held_bytes: int = 0
    _body_bytes: int | None = None
    _request_preview: str = ""
    _seed: Seed | None = None

    @property
    def target(self) -> Target:
        return self.head.target

    @property
    def session(self) -> str:
        return self.head.session

    @property
    def wire(self) -> Wire:
        return self.head.target.wire

    @property
    def seed(self) -> Seed:
        """Return the seed of all generated values, computed at first use."""
        if self._seed is None:
            call, session = self.call, self.head.session
            self._seed = make_seed(session, call.method, call.path, call.body, self.ordinal)
        return self._seed

    @property
    def violations(self) -> tuple[str, ...]:
        return self.decision.violations if self.decision else ()

    @property
    def unmatched(self) -> bool:
        """True if no scenario matched, also if the catch-all answered, or no endpoint takes the
        request."""
        decision = self.decision
        return decision is not None and (decision.fallback or not any(self.answered_by))

    def mockllm_headers(self, uid: str) -> Headers:
        """Return the headers that name the scenario, the step and the request, and mark a request
        that was not matched and an answer that was changed."""
        scenario, step = self.answered_by
        headers: Headers = (
            ("x-mockllm-scenario", _percent_encode(scenario)),
            ("x-mockllm-step", _percent_encode(step)),
            ("x-mockllm-request", uid),
        )
        if self.decision and (change := self.decision.change):
            headers = (*headers, (CHANGE_HEADER, change))
        return (*headers, UNMATCHED_HEADER) if self.unmatched else headers

    def response_headers(self, headers: Headers, uid: str) -> Headers:
        """Return the headers of a reply as clients get them over every transport."""
        safe_headers = guard_headers(headers, self.options.admin_cookies)
        return merge_headers(safe_headers, self.mockllm_headers(uid))

    def forget(self, *, beyond: int) -> None:
        """Release the parsed request and the body beyond `beyond` bytes."""
        call = self.call
        if len(call.body) > beyond:
            self._seed, self._body_bytes = self.seed, len(call.body)
            self.call = replace(call, body=call.body[:beyond])
        if self.request is not None:
            self._request_preview = preview_of(self.request)
            self.model, self.stream = self.request.model, self.request.stream
            self.request = None

    def decide(self, decision: Decision) -> None:
        """Store the decision, its time and the names of its scenario and step."""
        self.decision = decision
        self.decided_at = time.monotonic()
        scenario, step = decision.scenario, decision.step
        label = step.label if step else decision.text if decision.kind == "in_band" else ""
        self.answered_by = scenario.name if scenario else "", label

    def refuse(self, error: ErrorAnswer) -> None:
        """Decide that the request is unmatched if no endpoint takes it, unless it is a probe."""
        no_endpoint = self.head.target.endpoint is None and error.status in _NO_ENDPOINT
        if (no_endpoint or error.status == _UPGRADE_REQUIRED) and not _is_probe(self.call):
            self.decide(Decision("unmatched", "url", text=error.message))

    def entry(self, sent: SentReply) -> RawEntry:
        """Return the journal entry of a call whose reply was sent."""
        if self.request is not None:
            self.forget(beyond=len(self.call.body))
        call, decision, reply = self.call, self.decision, sent.reply
        step = decision.step if decision else None
        scenario_name, step_label = self.answered_by
        fault = self._fault()
        timings = {}
        if self.decided_at is not None:
            timings["chosen_ms"] = _to_ms(self.decided_at - self.began)
        if sent.first_at is not None:
            timings["head_ms"] = _to_ms(sent.first_at - self.began)
        return JournalEntry(
            uid=self.uid,
            at=self.at,
            session=self.head.session,
            method=call.method,
            path=call.path,
            status=reply.status,
            outcome=self._find_outcome(sent, fault),
            duration_ms=_to_ms(sent.ended_at - self.began),
            provider=self.head.target.provider,
            query=call.query,
            model=self.model,
            streamed=reply.streaming,
            scenario=scenario_name,
            step=step_label,
            step_key=step.key if step else "",
            way="upstream" if self.passed else decision.way if decision else "",
            matched=self.computed or self.passed or bool(scenario_name or step_label),
            fallback=bool(decision and decision.fallback),
            attempt=decision.attempt if decision and step and step.failures else None,
            fault=fault,
            violations=self.violations,
            near_misses=_near_misses_body(decision.near_misses)
            if decision and decision.near_misses
            else (),
            request_preview=self._request_preview,
            response_preview=reply.preview,
            timings=timings,
            siblings=call.siblings,
            request_headers=call.headers,
            request_body=call.body,
            request_bytes=self._body_bytes,
            response_headers=reply.headers if reply.started else (),
            response_body=sent.body,
            response_bytes=sent.size,
            # An early end can add an error to a body that was checked for secrets before.
            response_plain=reply.plain and not sent.early,
        )

    def _find_outcome(self, sent: SentReply, fault: str) -> Outcome:
        """Return the outcome: the client left, else a fault, else unmatched, else complete."""
        if sent.gone:
            return "client_gone"
        if sent.early or fault:
            return "fault"
        if self.decision and self.decision.kind == "unmatched":
            return "unmatched"
        return "complete"

    def _fault(self) -> str:
        """Return the kind of the fault in the answer, or an empty string."""
        decision = self.decision
        if decision is None:
            return ""
        if fault := decision.fault or decision.cancel_fault(stream=self.stream):
            return fault.kind
        step = decision.step if decision.kind == "step" else None
        return step.produce.fault.kind if step and step.produce.fault else ""


def _is_probe(call: Call) -> bool:
    """Return whether a call is a probe of a browser or health check, not meant for a model."""
    return call.method in _PROBES or "text/html" in call.headers.get("accept", "")


def preview_of(request: CanonicalRequest) -> str:
    """Return the beginning of the last user message, or of a tool result after it."""
    last = request.messages[-1] if request.messages else None
    if last is not None and last.role == "tool" and request.tool_results:
        return request.tool_results[-1].content[:MAX_PREVIEW_CHARS]
    return request.last_user_text[:MAX_PREVIEW_CHARS]


def _near_misses_body(near: tuple[NearMiss, ...]) -> list[Json]:
    """Return near misses as the journal stores them."""
    return [
        {
            "scenario": miss.scenario.name,
            "step": miss.step.label,
            "mismatches": [
                {"field": m.field, "expected": m.expected, "actual": m.actual}
                for m in miss.mismatches
            ],
        }
        for miss in near
    ]


@lru_cache(maxsize=1024)
def _percent_encode(name: str) -> str:
    return quote(name, safe="")


def _to_ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
