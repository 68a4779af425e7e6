"""Conditions on a request as a whole: whose it is, what it asks for, what it says of itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions import base as say
from scenarios_app.engine.conditions.base import AboutText, Condition, Known, SuspicionKind
from scenarios_app.engine.conditions.subjects import Reading, Subject
from scenarios_app.engine.conditions.text_shapes import (
    Alternatives,
    OneText,
    TextConditionDocument,
)
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes.fields import Flag, header_names


@dataclass(frozen=True, slots=True)
class OneOf(AboutText):
    """A text of the request is one of some alternatives."""

    shape = Alternatives
    empty = list
    in_body = False
    before: ClassVar[str] = ""
    """What stands before the alternatives in a sentence."""

    @classmethod
    def compiled(cls, value: list[TextConditionDocument], place: str) -> Iterator[Condition]:
        if value:
            yield cls(place, Subject(cls.read), tuple(one.compiled() for one in value))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if said := say.alternatives(value):
            yield f"{cls.before}{said}"

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        """The texts of which one must be so."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ProviderCondition(OneOf):
    """Whose API is asked."""

    key = "provider"
    meaning = "`openai`, `anthropic`, ...; a list holds alternatives."
    keyword = "expect"
    particular = False

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.provider, *request.also)

    def actual(self, reading: Reading) -> str:
        return quote(reading.texts(self.subject)[0].plain)

    def suspicions(self, known: Known) -> Iterator[tuple[SuspicionKind, str]]:
        names = known.providers
        if names and not any(c.test(name) for c in self.alternatives for name in names):
            yield "unreachable", f"there is no such provider, only {', '.join(sorted(names))}"


@dataclass(frozen=True, slots=True)
class PathCondition(OneOf):
    """At which path, raw or canonical."""

    key = "path"
    meaning = "The path without its query, raw or canonical (`/v1/chat/completions` for Azure too)."
    keyword = "expect"
    particular = False

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return dict.fromkeys((request.path, request.route))


@dataclass(frozen=True, slots=True)
class ModelCondition(OneOf):
    """Which model is asked for."""

    key = "model"
    meaning = "The model that is asked for; a list holds alternatives."
    keyword = "with_model"
    before = "model "

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.model,)


@dataclass(frozen=True, slots=True)
class StreamCondition(AboutText):
    """Whether a stream is asked for."""

    key = "stream"
    shape = Flag | None
    meaning = "Whether the request asks for a stream."
    keyword = "with_stream"
    plain = True

    @classmethod
    def compiled(cls, value: bool | None, place: str) -> Iterator[Condition]:
        if value is not None:
            yield cls.exactly(place, Subject(cls.read), "true" if value else "false")

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, bool):
            yield "streamed" if value else "not streamed"

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return ("true" if request.stream else "false",)


@dataclass(frozen=True, slots=True)
class TurnCondition(AboutText):
    """Which answer of the conversation this is: a key of the step, not of its `match`."""

    key = "turn"
    plain = True

    @classmethod
    def compiled(cls, value: int, place: str) -> Iterator[Condition]:
        yield cls.exactly(place, Subject(cls.read), str(value))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, int):
            yield f"turn {value}"

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (str(request.turn),)

    @property
    def moves_on(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class SelectCondition(AboutText):
    """By which name a scenario is asked for: its own `select`, not of its steps' `match`."""

    key = "select"

    @classmethod
    def compiled(cls, value: str, place: str) -> Iterator[Condition]:
        yield cls.exactly(place, Subject(cls.read), value)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        yield from ()

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (request.first_user_text.strip(),)

    @property
    def expected(self) -> str:
        return f"first user message equals {quote(self.alternatives[0].equals or '')}"


@dataclass(frozen=True, slots=True)
class Named(AboutText):
    """A text that the request has under a name."""

    empty = dict
    noun: ClassVar[str]

    @classmethod
    def compiled(cls, value: dict[str, TextConditionDocument], place: str) -> Iterator[Condition]:
        for name, text in value.items():
            yield cls(f"{place}.{name}", Subject(cls.read, name), (text.compiled(),))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if said := say.first_names(list(value if isinstance(value, dict) else ())):
            yield f"{cls.noun} {said}"

    @staticmethod
    def read(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        """The text under the name, if there is one."""
        raise NotImplementedError

    @property
    def absence(self) -> str:
        return f"no {self.noun} {self.subject.name}"


@dataclass(frozen=True, slots=True)
class HeaderCondition(Named):
    """What a header says."""

    key = "headers"
    shape = Annotated[dict[str, OneText], header_names]
    meaning = "Request headers by name, in any case."
    keyword = "with_header"
    in_body = False
    noun = "header"

    @classmethod
    def compiled(cls, value: dict[str, Any], place: str) -> Iterator[Condition]:
        for name, text in value.items():
            header = name.lower()
            yield cls(f"{place}.{header}", Subject(cls.read, header), (text.compiled(),))

    @staticmethod
    def read(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        value = request.headers.get(subject.name)
        return () if value is None else (value,)

    @property
    def masked(self) -> bool:
        return is_secret(self.subject.name)


@dataclass(frozen=True, slots=True)
class MetadataCondition(Named):
    """What an entry of the request's metadata says."""

    key = "metadata"
    shape = dict[str, OneText]
    meaning = "Entries of the request's metadata."
    keyword = "with_metadata"
    noun = "metadata"

    @staticmethod
    def read(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        value = request.metadata.get(subject.name)
        return () if value is None else (value,)

    @property
    def may_be_masked(self) -> bool:
        return is_secret(self.subject.name)
