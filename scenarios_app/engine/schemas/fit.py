"""Whether a value fits a JSON Schema. Formats are not looked at."""

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    References,
    Schema,
    SchemaError,
    canonical,
    exact,
    listed,
    mapped,
    names,
    number,
    text,
    type_of,
    types_of,
    whole,
)
from scenarios_app.engine.schemas.patterns import matches

MOST_STEPS = 20_000
_MAX_DEPTH = 64
# Where a schema holds others that speak of the same value.
INNER = (*REFERENCES, "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


@dataclass(slots=True)
class Budget:
    """How many steps are left until a schema takes too much."""

    left: int = MOST_STEPS

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        self.check(0)

    def check(self, steps: int) -> None:
        """Raise SchemaError where so many are not left."""
        if self.left < steps:
            raise SchemaError("it takes too many steps to make a value for it.")


@dataclass(frozen=True, slots=True)
class Fit:
    """Tells whether values fit the schemas of one document; raises SchemaError."""

    references: References
    budget: Budget

    def fits(self, value: Json, schema: Schema, depth: int = 0) -> bool:
        self.budget.spend()
        if depth > _MAX_DEPTH:
            raise SchemaError("it nests without end.")
        match schema:
            case bool():
                return schema
            case dict():
                return (
                    self._is_one_of(value, schema)
                    and self._scalar(value, schema)
                    and self._combined(value, schema, depth + 1)
                    and (not isinstance(value, dict) or self._object(value, schema, depth + 1))
                    and (not isinstance(value, list) or self._array(value, schema, depth + 1))
                )
        raise SchemaError("a schema must be an object.")

    def _is_one_of(self, value: Json, schema: Mapping[str, Json]) -> bool:
        types = types_of(schema)
        if types is not None and type_of(value) not in types:
            return False
        if "const" in schema and canonical(value) != canonical(schema["const"]):
            return False
        return "enum" not in schema or canonical(value) in map(canonical, listed(schema, "enum"))

    def _scalar(self, value: Json, schema: Mapping[str, Json]) -> bool:
        match value:
            case str():
                pattern = text(schema, "pattern")
                self.budget.spend(len(value) // 1000)
                return _within(len(value), schema, "minLength", "maxLength") and (
                    pattern is None or matches(pattern, value)
                )
            case bool():
                return True
            case int() | float():
                return _in_bounds(value, schema)
            case _:
                return True

    def _combined(self, value: Json, schema: Mapping[str, Json], depth: int) -> bool:
        for key in REFERENCES:
            if key in schema and not self.fits(value, self.references.resolve(schema[key]), depth):
                return False
        if not all(self.fits(value, each, depth) for each in listed(schema, "allOf")):
            return False
        if "anyOf" in schema and not any(
            self.fits(value, each, depth) for each in listed(schema, "anyOf")
        ):
            return False
        if "oneOf" in schema:
            fitting = sum(self.fits(value, each, depth) for each in listed(schema, "oneOf"))
            if fitting != 1:
                return False
        if "not" in schema and self.fits(value, schema["not"], depth):
            return False
        if "if" in schema:
            then = "then" if self.fits(value, schema["if"], depth) else "else"
            return then not in schema or self.fits(value, schema[then], depth)
        return True

    def _object(self, value: dict[str, Json], schema: dict[str, Json], depth: int) -> bool:
        if not _within(len(value), schema, "minProperties", "maxProperties"):
            return False
        if not all(name in value for name in names(schema, "required")):
            return False
        for key in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, wanted in mapped(schema, key).items():
                if name not in value:
                    continue
                if isinstance(wanted, list):
                    if not all(each in value for each in wanted):
                        return False
                elif not self.fits(value, wanted, depth):
                    return False
        if "unevaluatedProperties" in schema:
            known = self._evaluated(value, schema, depth)
            rest = schema["unevaluatedProperties"]
            if not all(self.fits(value[name], rest, depth) for name in value.keys() - known):
                return False
        named = schema.get("propertyNames", True)
        return all(
            self.fits(name, named, depth)
            and all(self.fits(item, each, depth) for each in schemas_of(name, schema))
            for name, item in value.items()
        )

    def _evaluated(self, value: dict[str, Json], schema: Schema, depth: int) -> set[str]:
        """The properties that a schema, or one inside it that the value fits, says something of."""
        if not isinstance(schema, dict) or not self.fits(
            value, {k: v for k, v in schema.items() if k != "unevaluatedProperties"}, depth + 1
        ):
            return set()
        if "additionalProperties" in schema:
            return set(value)
        known = {name for name in value if named_in(name, schema)}
        inner = [self.references.resolve(schema[key]) for key in REFERENCES if key in schema]
        for key in ("allOf", "anyOf", "oneOf"):
            inner += listed(schema, key)
        if "if" in schema:
            fits = self.fits(value, schema["if"], depth)
            inner += [schema["if"], schema.get("then")] if fits else [schema.get("else")]
        dependent = mapped(schema, "dependentSchemas")
        inner += [each for name, each in dependent.items() if name in value]
        return known.union(*(self._evaluated(value, each, depth + 1) for each in inner))

    def _array(self, value: list[Json], schema: Mapping[str, Json], depth: int) -> bool:
        if not _within(len(value), schema, "minItems", "maxItems"):
            return False
        if schema.get("uniqueItems") is True:
            self.budget.spend(len(value))
            if len(set(map(canonical, value))) < len(value):
                return False
        if "contains" in schema:
            least = whole(schema, "minContains")
            most = whole(schema, "maxContains")
            found = sum(self.fits(item, schema["contains"], depth) for item in value)
            if found < (1 if least is None else least) or (most is not None and found > most):
                return False
        return all(
            self.fits(item, schema_at(index, schema), depth) for index, item in enumerate(value)
        )


def named_in(name: str, schema: Mapping[str, Json]) -> list[Schema]:
    """What one schema wants of the property of a name that it knows, in so many words or by
    pattern."""
    properties = mapped(schema, "properties")
    found = [properties[name]] if name in properties else []
    return found + [s for p, s in mapped(schema, "patternProperties").items() if matches(p, name)]


def schemas_of(name: str, schema: Mapping[str, Json]) -> list[Schema]:
    """What one schema wants of the property of a name."""
    return named_in(name, schema) or [schema.get("additionalProperties", True)]


def schema_at(index: int, schema: Mapping[str, Json]) -> Schema:
    """What one schema wants of the item at an index, in today's words or in those of draft 7."""
    items = schema.get("items", True)
    if "items" not in schema and not any(key in schema for key in INNER):
        items = schema.get("unevaluatedItems", True)
    if isinstance(items, list):
        return items[index] if index < len(items) else schema.get("additionalItems", True)
    first = listed(schema, "prefixItems")
    return first[index] if index < len(first) else items


def _within(size: int, schema: Mapping[str, Json], least: str, most: str) -> bool:
    low, high = whole(schema, least), whole(schema, most)
    return (low is None or size >= low) and (high is None or size <= high)


def _in_bounds(value: int | float, schema: Mapping[str, Json]) -> bool:
    given = exact(value)
    low, high = number(schema, "minimum"), number(schema, "maximum")
    over, under = number(schema, "exclusiveMinimum"), number(schema, "exclusiveMaximum")
    if schema.get("exclusiveMinimum") is True:
        over = low
    if schema.get("exclusiveMaximum") is True:
        under = high
    step = number(schema, "multipleOf")
    return (
        (low is None or given >= low)
        and (high is None or given <= high)
        and (over is None or given > over)
        and (under is None or given < under)
        and (step is None or _is_multiple(value, schema["multipleOf"]))
    )


def _is_multiple(value: int | float, step: Json) -> bool:
    """Whether a value is a multiple, exactly and for those who divide as computers do."""
    assert isinstance(step, int | float)
    if not step:
        raise SchemaError("'multipleOf' must be above 0.")
    if exact(value) % exact(step):
        return False
    if isinstance(value, int) and isinstance(step, int):
        return True
    try:
        return (value / step).is_integer()
    except OverflowError:
        # Of such large numbers all are whole.
        return True
