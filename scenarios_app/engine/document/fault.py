"""The failures that a scenario document can script."""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.engine.scenario import Fault
from scenarios_app.engine.shapes import Document, KeyProblem, choice_problem, fields, refuse

STATUSES_WITHOUT_BODY = (204, 304)


def _check_kind(kind: Any) -> Any:
    """Return the kind; raises ValidationError if it is not registered."""
    if not isinstance(kind, str) or kind not in FAULT_KINDS:
        problem = choice_problem(kind, FAULT_KINDS)
        refuse([((), problem or f"expected one of {', '.join(FAULT_KINDS)}")])
    return kind


def _list_kinds(schema: dict[str, Any]) -> None:
    """Write the registered kinds into the JSON Schema at the time it is generated."""
    kinds = FAULT_KINDS.values()
    standalone = [kind.name for kind in kinds if not kind.inside]
    inside = [kind.name for kind in kinds if kind.inside]
    del schema["type"]
    schema["anyOf"] = [{"enum": names, "type": "string"} for names in (standalone, inside)]
    schema["description"] = (
        f"Kinds before {inside[0]} replace the answer; the others strike inside it."
    )


def _check_close_code(code: int) -> int:
    """Return the code; raises ValidationError if close frames cannot have it."""
    if code not in _CLOSE_CODES and not MIN_OWN_CLOSE_CODE <= code < 5_000:
        refuse([((), f"expected one of {', '.join(map(str, _CLOSE_CODES))}, or 3000 to 4999")])
    return code


# Those that a close frame may have (RFC 6455), and the one that stands for none.
_CLOSE_CODES = (1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014)
MIN_OWN_CLOSE_CODE = 3_000
CloseCode: TypeAlias = Annotated[
    fields.Whole,
    AfterValidator(_check_close_code),
    Field(json_schema_extra={"minimum": 1_000, "maximum": 4_999}),
]
KindName: TypeAlias = Annotated[
    str, BeforeValidator(_check_kind), Field(json_schema_extra=_list_kinds)
]


class FaultDocument(Document):
    """A scripted failure, alone or inside an answer."""

    kind: KindName
    after_chunks: fields.Whole = 1
    """Content chunks sent before a fault inside an answer strikes."""
    hold_ms: fields.Whole = 30_000
    """Milliseconds of silence of timeout and stall."""
    status: fields.Status | None = None
    """The HTTP status of kind http."""
    message: fields.Text | None = None
    """The error's message, if the fault has one."""
    type: fields.Text | None = None
    """The error's type in the provider's envelope."""
    code: fields.Text | None = None
    """The error's code in the provider's envelope."""
    param: fields.Text | None = None
    """The parameter that the error is about, in the provider's envelope."""
    body: JsonValue = None
    """Replaces the provider's envelope: text is sent unchanged, other JSON is encoded."""
    headers: fields.Headers = Field(default_factory=dict)
    """Additional response headers."""
    retry_after_ms: fields.Whole | None = None
    """The retry delay in milliseconds, sent in the provider's own headers."""
    retryable: fields.Flag | None = None
    """The value of the header x-should-retry."""
    close_code: CloseCode = 1011
    """The code of the close frame of kind close_socket; with 1006 there is no such frame."""
    after_frames: fields.Whole | None = None
    """Messages sent before close_socket strikes; without it, all of the answer."""
    half_frame: fields.Flag = False
    """Whether close_socket ends the connection inside the next frame."""

    @property
    def inside(self) -> bool:
        """True if the fault strikes inside an answer; False if it replaces the answer."""
        return FAULT_KINDS[self.kind].inside

    def compile(self) -> Fault:
        return Fault(**{**dict(self), "headers": fields.sent_headers(self.headers)})

    def find_key_problems(self) -> Iterator[KeyProblem]:
        kind = FAULT_KINDS[self.kind]
        allowed = kind.keys | {"kind"}
        for key in self.model_dump(exclude_defaults=True):
            if key not in allowed:
                yield (key,), f"does not belong to a fault of kind {self.kind}"
        for key in kind.required:
            if getattr(self, key) is None:
                yield (key,), "missing"
        if self.status in STATUSES_WITHOUT_BODY:
            yield ("status",), "an error has a body, and 204 and 304 have none"
        if self.body is not None:
            for key in ("message", "type", "code", "param"):
                if getattr(self, key) is not None:
                    yield (key,), "belongs to the envelope, which body replaces"


class FailuresDocument(Document):
    """The first attempts fail; all later ones get the answer."""

    times: fields.Positive
    """Number of attempts that fail, per session and provider."""
    fault: FaultDocument = Field(default_factory=lambda: FaultDocument(kind="model_error"))
    """The fault of these attempts."""
