"""The strict base of every document model: errors are worded for a document's author, where
pydantic's would describe its own internals. Leaf fields say what they expect, structure is worded
here, and each model adds what it alone can see by overriding `findings`."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

Loc: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead to a value, from the outside in."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_KEY = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `place` reads `steps[2].produce.pacing.jitter`; `source` is the file's path."""

    place: str
    message: str
    source: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.place, self.message) if part)


class DocumentError(Exception):
    """A document that cannot be used.

    `problems` holds everything that is wrong with it; `place` and `message` are the first one's.
    As text it is one line per problem.
    """

    def __init__(self, place: str, message: str, *, problems: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems) or (Problem(place, message),)
        self.place = place
        self.message = message
        super().__init__(place, message)

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "DocumentError":
        """The error that carries these problems, of which there is at least one."""
        found = tuple(problems)
        return cls(found[0].place, found[0].message, problems=found)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def place_of(loc: Loc) -> str:
    """A location as people write it: `steps[2].match.headers.x-team`, `variables["a b"]`."""
    place = ""
    for item in loc:
        if isinstance(item, int):
            place += f"[{item}]"
        elif _PLAIN_KEY.fullmatch(item) and len(item) <= _LONGEST_KEY:
            place += f".{item}" if place else item
        else:
            place += f"[{quoted(item)}]"
    return place


def quoted(value: object) -> str:
    """A JSON value as text for a message, cut where it would be long."""
    text = json.dumps(value, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…"


Finding: TypeAlias = tuple[Loc, str]
"""Something wrong: where, seen from the model that found it, and what."""

_OURS = "document"
_STRUCTURE = {
    "missing": "missing",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "too_short": "expected at least one",
}


class Document(BaseModel):
    """Strict and immutable: nothing is coerced, an unknown key is an error."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    def findings(self) -> Iterable[Finding]:
        """What is wrong although each key is right by itself."""
        return ()

    @model_validator(mode="wrap")
    @classmethod
    def _worded(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            document = handler(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            refuse((error["loc"], _text_of(error, cls)) for error in errors)
        if found := tuple(document.findings()):
            refuse(found)
        return document


def refuse(findings: Iterable[Finding]) -> NoReturn:
    """Fail the validation under way with these findings."""
    details = [
        InitErrorDetails(type=PydanticCustomError(_OURS, text), loc=loc, input=None)
        for loc, text in findings
    ]
    raise ValidationError.from_exception_data(_OURS, details)


def findings_of(error: ValidationError) -> list[Finding]:
    """What the failed validation of a `Document` found."""
    return [(item["loc"], item["msg"]) for item in error.errors(include_url=False)]


def expected(what: str) -> WrapValidator:
    """The error of a wrong leaf value says what was expected."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            refuse([((), f"expected {what}")])

    return WrapValidator(validate)


def reads_string(model: type[Document], key: str) -> BeforeValidator:
    """A plain string stands for an object with this one key."""

    def spell_out(value: object) -> object:
        if isinstance(value, str):
            return {key: value}
        if not isinstance(value, dict | model):
            refuse([((), "expected a string or an object")])
        return value

    return BeforeValidator(spell_out, json_schema_input_type=str | model)


def in_a_list(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One value stands for a list of it; its own places are then those of its errors."""
    if isinstance(value, list):
        return handler(value)
    try:
        return handler([value])
    except ValidationError as error:
        refuse((loc[1:], text) for loc, text in findings_of(error))


def writes_string(key: str) -> WrapSerializer:
    """An object with nothing but this key is written as a plain string."""

    def shorten(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
        written = handler(value)
        return written[key] if written.keys() == {key} else written

    return WrapSerializer(shorten)


def _text_of(error: ErrorDetails, model: type[BaseModel]) -> str:
    match error["type"]:
        case "document":
            return error["msg"]
        case "extra_forbidden":
            return _unknown_key(str(error["loc"][-1]), model)
        case kind:
            return _STRUCTURE[kind]


def _unknown_key(key: str, model: type[BaseModel]) -> str:
    known = [field.alias or name for name, field in model.model_fields.items()]
    if near := difflib.get_close_matches(key.lower(), known, n=1):
        return f"unknown key, did you mean {quoted(near[0])}?"
    return f"unknown key, expected one of {', '.join(known)}"
