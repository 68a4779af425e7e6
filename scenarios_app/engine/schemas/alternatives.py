"""Expands a JSON Schema to its branches: references are followed, `allOf` is joined, and `anyOf`,
`oneOf` and `if` give one branch for each choice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.fit import StepBudget
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    References,
    Schema,
    SchemaError,
    get_list,
)

# Puts branches into the order in which they are tried.
Order: TypeAlias = Callable[[Sequence[Schema]], Sequence[Schema]]

_MAX_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to meet schemas: the parts to meet together, and the references followed."""

    parts: tuple[Mapping[str, Json], ...] = ()
    references: tuple[str, ...] = ()
    pending: tuple[Schema, ...] = ()
    choices: tuple[tuple[Schema, ...], ...] = ()
    branches: int = 0


@dataclass(frozen=True, slots=True)
class BranchExpander:
    """Expands the schemas of one document to branches; raises SchemaError."""

    references: References
    budget: StepBudget

    def of(self, schemas: tuple[Schema, ...], order: Order) -> Iterator[Branch]:
        """Yield all branches in order."""
        return self._expand(Branch(pending=schemas), order)

    def _expand(self, branch_so_far: Branch, order: Order) -> Iterator[Branch]:
        resolved = self._resolve_pending(branch_so_far)
        if resolved is None:
            return
        if not resolved.choices:
            yield resolved
            return
        if resolved.branches == _MAX_BRANCHES:
            raise SchemaError("it branches too often.")
        (first, *rest), branches = resolved.choices, resolved.branches + 1
        for branch in order(first):
            further = replace(resolved, pending=(branch,), choices=tuple(rest), branches=branches)
            yield from self._expand(further, order)

    def _resolve_pending(self, branch: Branch) -> Branch | None:
        """Return the branch with nothing pending, or None if some part allows no value."""
        pending, parts = list(branch.pending), list(branch.parts)
        references, choices = list(branch.references), list(branch.choices)
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
                # A reference followed twice adds nothing.
                if name not in references:
                    references.append(name)
                    pending.append(target)
            pending.extend(get_list(schema, "allOf"))
            for key in ("anyOf", "oneOf"):
                if key in schema:
                    choices.append(tuple(get_list(schema, key)))
            if "if" in schema:
                then: Schema = {"allOf": [schema["if"], schema.get("then", True)]}
                choices.append((then, schema.get("else", True)))
        return Branch(tuple(parts), tuple(references), (), tuple(choices), branch.branches)
