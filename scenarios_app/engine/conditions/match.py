"""A step's `match`: which conditions there are, how a document holds them, and whether a request
meets all of them."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.recorded import RecordedCondition
from scenarios_app.engine.conditions.request import (
    HeaderCondition,
    MetadataCondition,
    ModelCondition,
    PathCondition,
    ProviderCondition,
    StreamCondition,
    TurnCondition,
)
from scenarios_app.engine.conditions.subjects import Reading
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.conditions.tools import (
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
)
from scenarios_app.engine.shapes import Document

C = TypeVar("C", bound=Condition)
Kinds: TypeAlias = tuple[type[Condition], ...]

# In the order in which they are told.
SHIPPED: Kinds = (
    ProviderCondition,
    PathCondition,
    ModelCondition,
    StreamCondition,
    MessageCondition,
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
    HeaderCondition,
    MetadataCondition,
    RecordedCondition,
)
# The turn, which is a key of the step, is told after these.
_BEFORE_TURN = (ProviderCondition, PathCondition, ModelCondition, StreamCondition)


@dataclass(slots=True)
class _Installed:
    kinds: Kinds


_installed = _Installed(SHIPPED)


def install(*kinds: type[Condition]) -> None:
    """Know these conditions instead of the ones so far."""
    _installed.kinds = kinds


def condition_kinds() -> Kinds:
    """The conditions that a `match` can hold, in the order in which they are told."""
    return _installed.kinds


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A condition that does not hold. `field` is its place in the step: `match.messages[0]`."""

    field: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition, what it wanted and what it got."""

    field: str
    expected: str
    actual: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Match:
    """What a request must be: all conditions of a step, in the order in which they are told.
    `group_names` are the named regex groups that its answer may use as `match.NAME`."""

    conditions: tuple[Condition, ...] = ()
    group_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = dict.fromkeys(name for one in self.conditions for name in one.group_names)
        object.__setattr__(self, "group_names", tuple(names))

    def of(self, kind: type[C]) -> tuple[C, ...]:
        """Its conditions of a kind."""
        return tuple(one for one in self.conditions if isinstance(one, kind))

    @property
    def path(self) -> tuple[TextCondition, ...]:
        """What the path may be; nothing: any."""
        return tuple(text for one in self.of(PathCondition) for text in one.alternatives)

    @property
    def provider(self) -> tuple[TextCondition, ...]:
        """Whose API may be asked; nothing: any."""
        return tuple(text for one in self.of(ProviderCondition) for text in one.alternatives)

    @property
    def model(self) -> tuple[TextCondition, ...]:
        """What the model may be; nothing: any."""
        return tuple(text for one in self.of(ModelCondition) for text in one.alternatives)

    def with_turn(self, turn: int | None) -> "Match":
        """The same, and the turn that a step is for."""
        if turn is None:
            return self
        before = sum(isinstance(one, _BEFORE_TURN) for one in self.conditions)
        added = TurnCondition.compiled(turn, "turn")
        return Match((*self.conditions[:before], *added, *self.conditions[before:]))

    def holds(self, reading: Reading) -> bool:
        for condition in self.conditions:  # noqa: SIM110  (a generator costs each request more)
            if not condition.holds(reading):
                return False
        return True

    def groups(self, reading: Reading) -> dict[str, str]:
        """Every named group by its name; of two of one name the first that took part."""
        if not self.group_names:
            return {}
        groups = dict.fromkeys(self.group_names, "")
        for condition in self.conditions:
            for name, value in condition.groups(reading).items():
                groups[name] = groups[name] or value
        return groups

    def count_failed(self, reading: Reading) -> int:
        """Return the number of conditions that do not hold."""
        return sum(not condition.holds(reading) for condition in self.conditions)

    def mismatches(self, reading: Reading) -> tuple[Mismatch, ...]:
        return tuple(
            Mismatch(*mismatch)
            for one in self.conditions
            if not one.holds(reading)
            for mismatch in one.mismatches(reading)
        )

    def verdicts(self, reading: Reading) -> tuple[Verdict, ...]:
        """Every condition with what it wanted and got, whether it holds or not."""
        return tuple(
            Verdict(one.field, one.expected, one.actual(reading), one.holds(reading))
            for one in self.conditions
        )

    def distance(self, reading: Reading) -> float:
        """The mean over all conditions, from 0 (all hold) to 1 (nothing alike); a little more than
        0 may be said of a long text that meets them."""
        if not self.conditions:
            return 0.0
        return sum(one.distance(reading) for one in self.conditions) / len(self.conditions)

    def implies(self, wide: "Match") -> bool:
        """Whether all requests that match this one match `wide`. A yes is certain."""
        return all(any(one.implies(other) for one in self.conditions) for other in wide.conditions)


NO_CONDITIONS = Match()


class AnyMatch(Document):
    """What every model of `match` has: its keys are those of the conditions that there are."""

    kinds: ClassVar[Kinds] = ()

    def compiled(self) -> Match:
        """The conditions, ready to be asked."""
        return Match(
            tuple(
                one
                for kind in self.kinds
                for one in kind.compiled(getattr(self, kind.key), f"match.{kind.key}")
            )
        )


def match_model() -> type[AnyMatch]:
    """The model of a document's `match`, of the conditions that there are now."""
    return _model(condition_kinds())


@lru_cache(maxsize=4)
def _model(kinds: Kinds) -> type[AnyMatch]:
    keys: dict[str, Any] = {kind.key: (kind.shape, _key(kind)) for kind in kinds}
    model = create_model(
        "MatchDocument",
        __base__=AnyMatch,
        __doc__="What a request must be for the step to answer it; a missing key is no constraint.",
        **keys,
    )
    model.kinds = kinds
    return model


def _key(kind: type[Condition]) -> Any:
    if kind.empty is None:
        return Field(default=None, description=kind.meaning)
    return Field(default_factory=kind.empty, description=kind.meaning)


class _Late:
    """Puts off until a document is read which conditions there are."""

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: match_model().model_validate(value),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda match: match.model_dump(by_alias=True, exclude_defaults=True)
            ),
        )

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(match_model().__pydantic_core_schema__)


MatchDocument: TypeAlias = Annotated[AnyMatch, _Late()]
NoMatch: Any = Field(default_factory=lambda: match_model()())
