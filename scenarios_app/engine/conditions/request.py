"""Conditions on a request as a whole: provider, path, model, stream, turn, headers and metadata."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Unpack

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.base import (
    Condition,
    SubjectTextCondition,
    SuspicionKind,
    builder_item,
    builder_value,
)
from scenarios_app.engine.conditions.phrases import list_first_names, phrase_alternatives
from scenarios_app.engine.conditions.subjects import RequestReader, Subject
from scenarios_app.engine.conditions.text_shapes import (
    ConditionKeys,
    TextAlternatives,
    TextConditionDocument,
    TextShape,
    condition_of,
)
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import fields


@dataclass(frozen=True, slots=True)
class AnyTextCondition(SubjectTextCondition):
    """A text of the request meets one of several alternatives."""

    shape = TextAlternatives
    empty = list
    needs_body = False
    phrase_prefix: ClassVar[str] = ""
    """Text before the alternatives in a sentence."""

    @classmethod
    def compile(cls, value: list[TextConditionDocument], field: str) -> Iterator[Condition]:
        if value:
            yield cls(
                field,
                Subject(cls.read_texts),
                tuple(alternative.compile() for alternative in value),
            )

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if phrase := phrase_alternatives(value):
            yield f"{cls.phrase_prefix}{phrase}"


@dataclass(frozen=True, slots=True)
class ProviderCondition(AnyTextCondition):
    """A condition on the provider whose API is called."""

    key = "provider"
    meaning = "`openai`, `anthropic`, ...; a list holds alternatives."
    is_particular = False

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.provider, *request.also)

    def actual(self, reader: RequestReader) -> str:
        return quote(reader.texts(self.subject)[0].plain)

    def suspicions(self, providers: Collection[str]) -> Iterator[tuple[SuspicionKind, str]]:
        """Yield a warning if none of the server's providers can pass."""
        if providers and not any(c.test(name) for c in self.alternatives for name in providers):
            yield "unreachable", f"there is no such provider, only {', '.join(sorted(providers))}"


@dataclass(frozen=True, slots=True)
class PathCondition(AnyTextCondition):
    """A condition on the raw or canonical path."""

    key = "path"
    meaning = (
        "The path without its query, as sent or as usual (`/v1/chat/completions` for Azure too)."
    )
    is_particular = False

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return dict.fromkeys((request.path, request.route))


@dataclass(frozen=True, slots=True)
class ModelCondition(AnyTextCondition):
    """A condition on the requested model."""

    key = "model"
    meaning = "The requested model; a list holds alternatives."
    phrase_prefix = "model "

    @builder_value
    @staticmethod
    def with_model(*names: str, **condition: Unpack[ConditionKeys]) -> object:
        """Match a model by name or by a condition; several are alternatives."""
        return [*names, condition] if condition else list(names)

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.model,)


@dataclass(frozen=True, slots=True)
class StreamCondition(SubjectTextCondition):
    """The request asks for a stream, or does not."""

    key = "stream"
    shape = fields.Flag | None
    meaning = "Whether the request asks for a stream."
    plain = True
    is_topical = False

    @builder_value
    @staticmethod
    def with_stream(stream: bool = True) -> object:
        """Match requests for a stream, or without one."""
        return stream

    @classmethod
    def compile(cls, value: bool | None, field: str) -> Iterator[Condition]:
        if value is not None:
            yield cls.for_exact_text(field, Subject(cls.read_texts), "true" if value else "false")

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, bool):
            yield "streamed" if value else "not streamed"

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return ("true" if request.stream else "false",)


@dataclass(frozen=True, slots=True)
class TurnCondition(SubjectTextCondition):
    """The number of the answer in the conversation: a key of the step, not of `match`."""

    key = "turn"
    plain = True
    is_topical = False
    can_fail_next_turn = True

    @classmethod
    def compile(cls, value: int, field: str) -> Iterator[Condition]:
        yield cls.for_exact_text(field, Subject(cls.read_texts), str(value))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, int):
            yield f"turn {value}"

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (str(request.turn),)


@dataclass(frozen=True, slots=True)
class SelectCondition(SubjectTextCondition):
    """The first user message names the scenario: set by the scenario's `select`, not by `match`."""

    key = "select"

    @classmethod
    def compile(cls, value: str, field: str) -> Iterator[Condition]:
        yield cls.for_exact_text(field, Subject(cls.read_texts), value)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        yield from ()

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.first_user_text.strip(),)

    @property
    def expected(self) -> str:
        return f"first user message equals {quote(self.alternatives[0].equals or '')}"


@dataclass(frozen=True, slots=True)
class NamedTextCondition(SubjectTextCondition):
    """A condition on a text that the request holds under a name."""

    empty = dict
    phrase_noun: ClassVar[str]
    ignores_case: ClassVar[bool] = False
    """True if names that differ only in case are the same."""

    @classmethod
    def compile(cls, value: dict[str, TextConditionDocument], field: str) -> Iterator[Condition]:
        for key, text in value.items():
            name = key.lower() if cls.ignores_case else key
            yield cls(f"{field}.{name}", Subject(cls.read_texts, name), (text.compile(),))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if phrase := list_first_names(list(value if isinstance(value, dict) else ())):
            yield f"{cls.phrase_noun} {phrase}"

    @property
    def absence(self) -> str:
        return f"no {self.phrase_noun} {self.subject.name}"


@dataclass(frozen=True, slots=True)
class HeaderCondition(NamedTextCondition):
    """A condition on a header."""

    key = "headers"
    shape = Annotated[dict[str, TextShape], fields.header_names]
    meaning = "Request headers by name, in any case."
    needs_body = False
    phrase_noun = "header"
    ignores_case = True

    @builder_item
    @staticmethod
    def with_header(
        name: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> object:
        """Match a request header by its value or by a condition."""
        return {name: condition_of(value, condition)}

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        value = request.headers.get(subject.name)
        return () if value is None else (value,)

    @property
    def is_masked(self) -> bool:
        """True if the journal masks the header, so that stored requests cannot be judged."""
        return is_secret(self.subject.name)


@dataclass(frozen=True, slots=True)
class MetadataCondition(NamedTextCondition):
    """A condition on an entry of the request's metadata."""

    key = "metadata"
    shape = dict[str, TextShape]
    meaning = "Entries of the request's metadata."
    phrase_noun = "metadata"

    @builder_item
    @staticmethod
    def with_metadata(
        key: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> object:
        """Match an entry of the request's metadata by its value or by a condition."""
        return {key: condition_of(value, condition)}

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        value = request.metadata.get(subject.name)
        return () if value is None else (value,)

    @property
    def may_be_masked(self) -> bool:
        """True if the journal may mask the value, because its key names a secret."""
        return is_secret(self.subject.name)
