"""Conditions on settings of the request: its response format, token limit and number of tools. They
tell side requests of agents, such as those for titles, from the others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.base import Condition, SubjectTextCondition, builder_value
from scenarios_app.engine.conditions.phrases import get_short_text
from scenarios_app.engine.conditions.subjects import RequestReader, Subject
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.shapes import Document, KeyProblem, expected, fields


class NamedSchemaDocument(Document):
    """A JSON schema by its name."""

    schema_name: fields.SomeText = Field(alias="schema")
    """The name that the request gives the schema, else the schema's title."""


FormatShape: TypeAlias = Annotated[
    Literal["text", "json", "schema"] | NamedSchemaDocument,
    expected('text, json, schema or {"schema": NAME}'),
]


@dataclass(frozen=True, slots=True)
class ResponseFormatCondition(SubjectTextCondition):
    """The request asks for text, for any JSON, or for JSON of a schema."""

    key = "response_format"
    shape = FormatShape | None
    meaning = (
        "`text`, `json` (JSON without a schema), `schema` (JSON of any schema), or "
        '`{"schema": NAME}`: JSON of the schema with this name or title.'
    )
    plain = True

    @builder_value
    @staticmethod
    def with_response_format(
        kind: Literal["text", "json", "schema"] | None = None, *, schema: str | None = None
    ) -> object:
        """Match requests for text, for any JSON, or for JSON of a schema, which may be named."""
        return kind if schema is None else {"schema": schema}

    @classmethod
    def compile(cls, value: str | NamedSchemaDocument | None, field: str) -> Iterator[Condition]:
        if value is not None:
            text = value if isinstance(value, str) else f"schema {quote(value.schema_name)}"
            yield cls.for_exact_text(field, Subject(cls.read_texts), text)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, str):
            yield f"asks for {value}"
        elif name := get_short_text(value, "schema"):
            yield f"asks for schema {name}"

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        form = request.json
        if form is None:
            return ("text",)
        if not form.has_schema:
            return ("json",)
        return ("schema", f"schema {quote(form.schema_name)}") if form.schema_name else ("schema",)

    def actual(self, reader: RequestReader) -> str:
        return reader.texts(self.subject)[-1].plain

    def implies(self, wide: Condition) -> bool:
        if not isinstance(wide, ResponseFormatCondition):
            return False
        return wide.expected in (self.expected, self.expected.partition(" ")[0])


class RangeDocument(Document):
    """A range of whole numbers, with one bound or both."""

    min: fields.Whole | None = None
    """The lowest number."""
    max: fields.Whole | None = None
    """The highest number."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.min is None and self.max is None:
            yield (), "expected min, max or both"
        elif self.min is not None and self.max is not None and self.min > self.max:
            yield ("max",), "expected at least min"


@dataclass(frozen=True, slots=True)
class RangeCondition(Condition):
    """A number of the request is in a range; a bound that is None is open."""

    shape = RangeDocument | None
    # What a short sentence says of the range.
    phrase: ClassVar[str] = "{}"

    low: int | None
    high: int | None

    @classmethod
    def compile(cls, value: RangeDocument | None, field: str) -> Iterator[Condition]:
        if value is not None:
            yield cls(field, value.min, value.max)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if text := _phrase_range(value):
            yield cls.phrase.format(text)

    @staticmethod
    def read_number(request: CanonicalRequest) -> int | None:
        """Return the number, or None if the request has none; None is in no range. Each kind
        defines this."""
        raise NotImplementedError

    @property
    def expected(self) -> str:
        return _describe_range(self.low, self.high)

    def holds(self, reader: RequestReader) -> bool:
        number = self.read_number(reader.request)
        return (
            number is not None
            and (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
        )

    def actual(self, reader: RequestReader) -> str:
        number = self.read_number(reader.request)
        return f"no {self.key}" if number is None else str(number)

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, type(self))
            and (wide.low is None or (self.low is not None and self.low >= wide.low))
            and (wide.high is None or (self.high is not None and self.high <= wide.high))
        )


@dataclass(frozen=True, slots=True)
class ToolCountCondition(RangeCondition):
    """A condition on the number of offered tools."""

    key = "tool_count"
    meaning = "The number of offered tools, hosted ones included, from `min` to `max`."
    phrase = "offers {} tools"

    @builder_value
    @staticmethod
    def with_tool_count(*, min: int | None = None, max: int | None = None) -> object:
        """Match requests whose number of tools is in this range."""
        return _range_of(min, max)

    @staticmethod
    def read_number(request: CanonicalRequest) -> int | None:
        """Return the number of offered tools."""
        return len(request.tools)


@dataclass(frozen=True, slots=True)
class MaxTokensCondition(RangeCondition):
    """A condition on the token limit of the answer."""

    key = "max_tokens"
    meaning = "The request's token limit, from `min` to `max`; without a limit it does not match."
    phrase = "limit of {} tokens"

    @builder_value
    @staticmethod
    def with_max_tokens(*, min: int | None = None, max: int | None = None) -> object:
        """Match requests with a token limit in this range."""
        return _range_of(min, max)

    @staticmethod
    def read_number(request: CanonicalRequest) -> int | None:
        """Return the requested token limit, or None."""
        return request.max_tokens


def _range_of(low: int | None, high: int | None) -> dict[str, int]:
    """Return the keys of a RangeDocument."""
    bounds = {"min": low, "max": high}
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _describe_range(low: Json, high: Json) -> str:
    """Return a range in words."""
    if low == high:
        return str(low)
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"{low} to {high}"


def _phrase_range(value: Json) -> str:
    """Return an unvalidated range in words, or an empty text."""
    bounds = value if isinstance(value, dict) else {}
    low, high = (n if isinstance(n := bounds.get(key), int) else None for key in ("min", "max"))
    return "" if low is None and high is None else _describe_range(low, high)
