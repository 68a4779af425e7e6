"""The strict base of every document model: errors are worded for a document's author, where
pydantic's would describe its own internals. Leaf fields say what they expect, structure is worded
here, and each model adds what it alone can see by overriding `findings`."""

import difflib
from collections.abc import Iterable
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

from scenarios_app.engine.document_errors import Loc, quoted

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
    """Whatever is wrong with a leaf value, the error says what was expected."""

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
