"""A step's `match`: the classes of conditions, their pydantic model, and the test of a request."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from scenarios_app.engine.conditions import messages, recorded, request, settings, tools
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.shapes import Document

C = TypeVar("C", bound=Condition)
ConditionKinds: TypeAlias = tuple[type[Condition], ...]

CONDITION_KINDS: list[type[Condition]] = [
    request.ProviderCondition,
    request.PathCondition,
    request.ModelCondition,
    request.StreamCondition,
    messages.MessageCondition,
    tools.OfferedToolCondition,
    settings.ToolCountCondition,
    tools.ToolCallCondition,
    tools.ToolResultCondition,
    settings.ResponseFormatCondition,
    settings.MaxTokensCondition,
    request.HeaderCondition,
    request.MetadataCondition,
    recorded.RecordedCondition,
]
"""The classes of all conditions, in the order in which mismatches list them."""
# Conditions listed before the turn, which is a key of the step.
_DESCRIBED_BEFORE_TURN = tuple(CONDITION_KINDS[:4])


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A condition that does not hold. `field` is its path in the step: `match.messages[0]`."""

    field: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class ConditionResult(Mismatch):
    """The result of one condition, met or not; `ok` is True if it holds."""

    ok: bool


@dataclass(frozen=True, slots=True)
class Match:
    """All conditions of a step, in listing order. `group_names` are their named groups in
    answers."""

    conditions: tuple[Condition, ...] = ()
    group_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = dict.fromkeys(
            name for condition in self.conditions for name in condition.group_names
        )
        object.__setattr__(self, "group_names", tuple(names))

    def of(self, kind: type[C]) -> tuple[C, ...]:
        """Return the conditions of one kind."""
        return tuple(condition for condition in self.conditions if isinstance(condition, kind))

    def alternatives(self, key: Literal["path", "provider", "model"]) -> tuple[TextCondition, ...]:
        """Return the alternatives of the condition at a key; empty means any text."""
        conditions = (
            condition for condition in self.of(request.AnyTextCondition) if condition.key == key
        )
        return tuple(text for condition in conditions for text in condition.alternatives)

    def with_turn(self, turn: int | None) -> "Match":
        """Return this match with a condition on the turn, unless `turn` is None."""
        if turn is None:
            return self
        before = sum(isinstance(condition, _DESCRIBED_BEFORE_TURN) for condition in self.conditions)
        added = request.TurnCondition.compile(turn, "turn")
        return Match((*self.conditions[:before], *added, *self.conditions[before:]))

    def holds(self, reader: RequestReader) -> bool:
        for condition in self.conditions:  # noqa: SIM110  (a generator costs each request more)
            if not condition.holds(reader):
                return False
        return True

    def groups(self, reader: RequestReader) -> dict[str, str]:
        """Return all named groups; of groups with one name, the first that matched."""
        if not self.group_names:
            return {}
        groups = dict.fromkeys(self.group_names, "")
        for condition in self.conditions:
            for name, value in condition.groups(reader).items():
                groups[name] = groups[name] or value
        return groups

    def count_failed(self, reader: RequestReader) -> int:
        """Return the number of conditions that do not hold."""
        return sum(not condition.holds(reader) for condition in self.conditions)

    def mismatches(self, reader: RequestReader) -> tuple[Mismatch, ...]:
        """Return the reasons why the conditions that do not hold fail."""
        return tuple(
            Mismatch(*mismatch)
            for condition in self.conditions
            if not condition.holds(reader)
            for mismatch in condition.mismatches(reader)
        )

    def condition_results(self, reader: RequestReader) -> tuple[ConditionResult, ...]:
        """Return the result of every condition."""
        return tuple(
            ConditionResult(
                condition.field,
                condition.expected,
                condition.actual(reader),
                condition.holds(reader),
            )
            for condition in self.conditions
        )

    def distance(self, reader: RequestReader) -> float:
        """Return the mean distance of the conditions, from 0 (all hold) to 1 (nothing alike). A
        text of over 20,000 characters is not tested; the result can be above 0 though it meets
        them."""
        if not self.conditions:
            return 0.0
        return sum(condition.distance(reader) for condition in self.conditions) / len(
            self.conditions
        )

    def implies(self, wide: "Match") -> bool:
        """Return True if all requests that match this one certainly match `wide`."""
        return all(
            any(condition.implies(other) for condition in self.conditions)
            for other in wide.conditions
        )


NO_CONDITIONS = Match()


class BaseMatchDocument(Document):
    """Base of the generated `match` models, with one field for each condition."""

    kinds: ClassVar[ConditionKinds] = ()

    def compile(self) -> Match:
        """Return the conditions in the form that tests requests."""
        values = ((kind, getattr(self, _field_name(kind))) for kind in self.kinds)
        return Match(
            tuple(
                condition
                for kind, v in values
                for condition in kind.compile(v, f"match.{kind.key}")
            )
        )


def match_model() -> type[BaseMatchDocument]:
    """Return the pydantic model of `match` with the keys of all conditions."""
    return _make_match_model(tuple(CONDITION_KINDS))


@lru_cache(maxsize=4)
def _make_match_model(kinds: ConditionKinds) -> type[BaseMatchDocument]:
    """Return the pydantic model of a step's `match`, with a field for each kind of condition."""
    fields: dict[str, Any] = {_field_name(kind): (kind.shape, _make_field(kind)) for kind in kinds}
    model = create_model(
        "MatchDocument",
        __base__=BaseMatchDocument,
        __doc__="What a request must be for the step to answer it; a missing key is no constraint.",
        **fields,
    )
    model.kinds = kinds
    return model


def _field_name(kind: type[Condition]) -> str:
    """Return the name of the condition's field in the model; its alias is the key in `match`."""
    # Keys such as `json`, `schema` and `copy` are attributes of every pydantic model.
    return f"match_{kind.key}"


def _make_field(kind: type[Condition]) -> Any:
    """Return the pydantic field of a kind, by default without a condition."""
    if kind.empty is None:
        return Field(default=None, alias=kind.key, description=kind.meaning)
    return Field(default_factory=kind.empty, alias=kind.key, description=kind.meaning)


class _LazyMatchModel:
    """Defers the choice of the `match` model until a document is validated."""

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
        model = match_model()
        model.model_rebuild()
        return handler(model.__pydantic_core_schema__)


MatchDocument: TypeAlias = Annotated[BaseMatchDocument, _LazyMatchModel()]
DEFAULT_MATCH: Any = Field(default_factory=lambda: match_model()())
