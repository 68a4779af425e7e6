"""The strict base of all document models, with errors worded for authors of documents.

Leaf fields state what they expect, structural errors are worded here, and a model adds its own
checks by overriding `find_key_problems`.
"""

import difflib
import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
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

from scenarios_app.engine.problems import DocumentError as DocumentError
from scenarios_app.engine.problems import Problem as Problem

S = TypeVar("S", bound=Struct)

Loc: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead to a value, from the outside in."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MAX_KEY_CHARS = 80


def format_location(loc: Loc) -> str:
    """Format a location for people: `steps[2].match.headers.x-team`, `variables["a b"]`."""
    place = ""
    for item in loc:
        if isinstance(item, int):
            place += f"[{item}]"
        elif _PLAIN_KEY.fullmatch(item) and len(item) <= _MAX_KEY_CHARS:
            place += f".{item}" if place else item
        else:
            place += f"[{quote_json(item)}]"
    return place


def quote_json(value: object) -> str:
    """Return a value as JSON text for a message, cut to 80 characters."""
    text = json.dumps(value, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MAX_KEY_CHARS else text[: _MAX_KEY_CHARS - 1] + "…"


KeyProblem: TypeAlias = tuple[Loc, str]
"""A problem: its location relative to the model, and the message."""

_MAX_SUGGESTED_CHARS = 100
_ERROR_TYPE = "document"
_STRUCTURE_TEXTS = {
    "missing": "missing",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "too_short": "expected at least one",
}


class Document(BaseModel):
    """Base of strict, immutable models: nothing is coerced, an unknown key is an error.

    Validators are built with the first document, since they take most of the start's time.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)

    def find_key_problems(self) -> Iterable[KeyProblem]:
        """Return the problems between keys that are valid by themselves. Models override this."""
        return ()

    @model_validator(mode="wrap")
    @classmethod
    def _validate_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Return the validated document; raises ValidationError with our messages, also for the
        problems of `find_key_problems`."""
        try:
            document = handler(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            refuse((error["loc"], _error_text(error, cls)) for error in errors)
        if problems := tuple(document.find_key_problems()):
            refuse(problems)
        return document


def to_struct(document: Document, default: S, **changed: object) -> S:
    """Return a copy of `default` with all values of the document, overridden by `changed`; or
    `default` itself, without `changed`, if the document sets no field."""
    if not document.model_fields_set:
        return default
    return replace(default, **{**dict(document), **changed})


def refuse(problems: Iterable[KeyProblem]) -> NoReturn:
    """Raise a pydantic ValidationError with these problems."""
    details = [
        InitErrorDetails(type=PydanticCustomError(_ERROR_TYPE, text), loc=loc, input=None)
        for loc, text in problems
    ]
    raise ValidationError.from_exception_data(_ERROR_TYPE, details)


def key_problems_of(error: ValidationError) -> list[KeyProblem]:
    """Return the location and the message of each error of a `Document`'s failed validation."""
    return [(item["loc"], item["msg"]) for item in error.errors(include_url=False)]


def expected(description: str, choices: Iterable[str] = ()) -> WrapValidator:
    """Return a validator that replaces all errors of a leaf value by `expected DESCRIPTION`, or
    suggests the one of `choices` that resembles the value."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        """Return the valid value; raises ValidationError with the description."""
        try:
            return handler(value)
        except ValidationError:
            refuse([((), choice_problem(value, choices) or f"expected {description}")])

    return WrapValidator(validate)


def choice_problem(value: Any, choices: Iterable[str]) -> str:
    """Return the message for an unknown value that resembles one of the choices, otherwise ""."""
    if not isinstance(value, str) or len(value) > _MAX_SUGGESTED_CHARS:
        return ""
    matches = difflib.get_close_matches(value.lower().replace("-", "_"), [*choices], n=1)
    return (
        f"{quote_json(value)} is unknown, did you mean {quote_json(matches[0])}?" if matches else ""
    )


def parse_from_string(model: type[Document], key: str) -> BeforeValidator:
    """Return a validator by which a plain string stands for an object with only this key."""

    def spell_out(value: object) -> object:
        """Return a string as object, an object unchanged; raises ValidationError for others."""
        if isinstance(value, str):
            return {key: value}
        if not isinstance(value, dict | model):
            refuse([((), "expected a string or an object")])
        return value

    return BeforeValidator(spell_out, json_schema_input_type=str | model)


def wrap_in_list(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Accept a single value in place of a list of one; its errors then have no index."""
    if isinstance(value, list):
        return handler(value)
    try:
        return handler([value])
    except ValidationError as error:
        refuse((loc[1:], text) for loc, text in key_problems_of(error))


def dump_as_string(key: str) -> WrapSerializer:
    """Return a serializer that writes an object with only this key as a plain string."""

    def dump_shortest(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
        """Return the value of the key if the dumped object has no other, else the object."""
        dumped = handler(value)
        return dumped[key] if dumped.keys() == {key} else dumped

    return WrapSerializer(dump_shortest)


def _error_text(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Return our message for an error of pydantic; KeyError for a type without one."""
    match error["type"]:
        case "document":
            return error["msg"]
        case "extra_forbidden":
            return _unknown_key_text(str(error["loc"][-1]), model)
        case kind:
            return _STRUCTURE_TEXTS[kind]


def _unknown_key_text(key: str, model: type[BaseModel]) -> str:
    """Return the message for an unknown key: a similar key of the model, or all of them."""
    keys = [field.alias or name for name, field in model.model_fields.items()]
    if matches := difflib.get_close_matches(key.lower(), keys, n=1):
        return f"unknown key, did you mean {quote_json(matches[0])}?"
    return f"unknown key, expected one of {', '.join(keys)}"
