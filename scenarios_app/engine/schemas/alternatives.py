"""Expands a JSON Schema to its branches: references are followed, `allOf` is joined, and `anyOf`,
`oneOf` and `if` give one branch for each choice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.fit import SchemaValidator
from scenarios_app.engine.schemas.keywords import REFERENCES, Schema, SchemaError, get_list

# Returns the alternatives of an `anyOf`, `oneOf` or `if` in the order in which they are tried.
Order: TypeAlias = Callable[[Sequence[Schema]], Sequence[Schema]]

_MAX_CHOICES = 100


@dataclass(frozen=True, slots=True)
class Branch:
    """One alternative of each choice in schemas: a value is to fit all `parts`. `references` are
    the texts of the `$ref` that were followed."""

    parts: tuple[Mapping[str, Json], ...] = ()
    references: tuple[str, ...] = ()


def expand_branches(
    schemas: Sequence[Schema],
    order: Order,
    fit: SchemaValidator,
    *,
    branch: Branch = Branch(),
    open_choices: Sequence[Sequence[Schema]] = (),
    depth: int = 0,
) -> Iterator[Branch]:
    """Yield, in order, a branch for each combination of alternatives of the schemas, except those
    with a `false` schema. The keywords are for recursion: the branch so far, the choices left, and
    the number of those made. Raises SchemaError for an invalid schema and too many choices."""
    pending, choices = list(schemas), list(open_choices)
    parts, references = list(branch.parts), list(branch.references)
    while pending:
        fit.budget.spend()
        schema = pending.pop(0)
        if schema is False:
            return
        if schema is True:
            continue
        if not isinstance(schema, dict):
            raise SchemaError("a schema must be an object.")
        parts.append(schema)
        for key in REFERENCES:
            if key not in schema:
                continue
            target, name = fit.references.resolve(schema[key]), str(schema[key])
            # A reference followed twice adds nothing.
            if name not in references:
                references.append(name)
                pending.append(target)
        pending.extend(get_list(schema, "allOf"))
        choices += [get_list(schema, key) for key in ("anyOf", "oneOf") if key in schema]
        if "if" in schema:
            then: Schema = {"allOf": [schema["if"], schema.get("then", True)]}
            choices.append([then, schema.get("else", True)])
    resolved = Branch(tuple(parts), tuple(references))
    if not choices:
        yield resolved
        return
    if depth == _MAX_CHOICES:
        raise SchemaError("it branches too often.")
    for alternative in order(choices[0]):
        yield from expand_branches(
            [alternative], order, fit, branch=resolved, open_choices=choices[1:], depth=depth + 1
        )
