"""A JSON Schema as the ways to fulfil it: references followed, `allOf` joined, and of `anyOf`,
`oneOf` and `if` one branch each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.fit import Budget
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    References,
    Schema,
    SchemaError,
    listed,
)

# How branches are put in order, those to be tried first at the front.
Order: TypeAlias = Callable[[Sequence[Schema]], Sequence[Schema]]

_MOST_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class Way:
    """One way to fulfil schemas: what a value must be all of, and the references on the way."""

    parts: tuple[Mapping[str, Json], ...] = ()
    references: tuple[str, ...] = ()
    pending: tuple[Schema, ...] = ()
    choices: tuple[tuple[Schema, ...], ...] = ()
    branches: int = 0


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The ways to fulfil schemas of one document; raises SchemaError."""

    references: References
    budget: Budget

    def of(self, schemas: tuple[Schema, ...], order: Order) -> Iterator[Way]:
        """All ways, in the order of the branches."""
        return self._from(Way(pending=schemas), order)

    def _from(self, way: Way, order: Order) -> Iterator[Way]:
        found = self._followed(way)
        if found is None:
            return
        if not found.choices:
            yield found
            return
        if found.branches == _MOST_BRANCHES:
            raise SchemaError("it branches too often.")
        (first, *rest), branches = found.choices, found.branches + 1
        for branch in order(first):
            further = replace(found, pending=(branch,), choices=tuple(rest), branches=branches)
            yield from self._from(further, order)

    def _followed(self, way: Way) -> Way | None:
        """A way with nothing pending; None where something on it can be nothing."""
        pending, parts = list(way.pending), list(way.parts)
        references, choices = list(way.references), list(way.choices)
        while pending:
            self.budget.spend()
            schema = pending.pop(0)
            if schema is False:
                return None
            if schema is True:
                continue
            if not isinstance(schema, dict):
                raise SchemaError("a schema must be an object.")
            parts.append(schema)
            for key in REFERENCES:
                if key not in schema:
                    continue
                target, name = self.references.resolve(schema[key]), str(schema[key])
                # What is wanted twice is wanted once.
                if name not in references:
                    references.append(name)
                    pending.append(target)
            pending.extend(listed(schema, "allOf"))
            for key in ("anyOf", "oneOf"):
                if key in schema:
                    choices.append(tuple(listed(schema, key)))
            if "if" in schema:
                then: Schema = {"allOf": [schema["if"], schema.get("then", True)]}
                choices.append((then, schema.get("else", True)))
        return Way(tuple(parts), tuple(references), (), tuple(choices), way.branches)
