"""Validates values against JSON Schemas, with a budget of steps. Formats are not checked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    References,
    Schema,
    SchemaError,
    canonical_json,
    get_count,
    get_list,
    get_mapping,
    get_names,
    get_number,
    get_text,
    to_fraction,
    type_of,
    types_of,
)
from scenarios_app.engine.schemas.patterns import matches_pattern

MAX_STEPS = 20_000
_MAX_DEPTH = 64
# Keywords whose schemas apply to the same value.
IN_PLACE_KEYWORDS = (*REFERENCES, "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


@dataclass(slots=True)
class StepBudget:
    """The number of steps left before a schema counts as too complex."""

    left: int = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """Subtract steps; raise SchemaError if there were not enough left."""
        self.left -= steps
        self.check(0)

    def check(self, steps: int) -> None:
        """Raise SchemaError if fewer steps are left; subtract nothing."""
        if self.left < steps:
            raise SchemaError("it takes too many steps to make a value for it.")


@dataclass(frozen=True, slots=True)
class SchemaValidator:
    """Validates values against the schemas of one document. All calls use up the same budget."""

    references: References
    budget: StepBudget

    def is_valid(self, value: Json, schema: Schema, depth: int = 0) -> bool:
        """Return True if a value fits a schema. Raises SchemaError for an invalid schema, nesting
        without end or too many steps, and another ValueError for a value such as NaN."""
        self.budget.spend()
        if depth > _MAX_DEPTH:
            raise SchemaError("it nests without end.")
        match schema:
            case bool():
                return schema
            case dict():
                return (
                    self._has_allowed_value(value, schema)
                    and self._is_valid_scalar(value, schema)
                    and self._is_valid_combination(value, schema, depth + 1)
                    and self._is_valid_object(value, schema, depth + 1)
                    and self._is_valid_array(value, schema, depth + 1)
                )
        raise SchemaError("a schema must be an object.")

    def _has_allowed_value(self, value: Json, schema: Mapping[str, Json]) -> bool:
        """Return True if the value has an allowed type and meets `const` and `enum`."""
        types = types_of(schema)
        if types is not None and type_of(value) not in types:
            return False
        if "const" in schema and canonical_json(value) != canonical_json(schema["const"]):
            return False
        return "enum" not in schema or canonical_json(value) in map(
            canonical_json, get_list(schema, "enum")
        )

    def _is_valid_scalar(self, value: Json, schema: Mapping[str, Json]) -> bool:
        """Return True if a string or a number meets the keywords for it, or is another value."""
        match value:
            case str():
                pattern = get_text(schema, "pattern")
                self.budget.spend(len(value) // 1000)
                return _is_within(len(value), schema, "minLength", "maxLength") and (
                    pattern is None or matches_pattern(pattern, value)
                )
            case int() | float() if not isinstance(value, bool):
                return _is_in_bounds(value, schema)
        return True

    def _is_valid_combination(self, value: Json, schema: Mapping[str, Json], depth: int) -> bool:
        """Return True if the value meets references, `allOf`, `anyOf`, `oneOf`, `not` and `if`."""

        def fits(schemas: Iterable[Schema]) -> Iterator[bool]:
            """Yield for each schema True if the value fits it."""
            return (self.is_valid(value, each, depth) for each in schemas)

        targets = (self.references.resolve(schema[key]) for key in REFERENCES if key in schema)
        if not all(fits(targets)) or not all(fits(get_list(schema, "allOf"))):
            return False
        if "anyOf" in schema and not any(fits(get_list(schema, "anyOf"))):
            return False
        if "oneOf" in schema and sum(fits(get_list(schema, "oneOf"))) != 1:
            return False
        if "not" in schema and self.is_valid(value, schema["not"], depth):
            return False
        if "if" in schema:
            then = "then" if self.is_valid(value, schema["if"], depth) else "else"
            return then not in schema or self.is_valid(value, schema[then], depth)
        return True

    def _is_valid_object(self, value: Json, schema: dict[str, Json], depth: int) -> bool:
        """Return True if the value meets the keywords for objects, or is no object."""
        if not isinstance(value, dict):
            return True
        if not _is_within(len(value), schema, "minProperties", "maxProperties"):
            return False
        if not all(name in value for name in get_names(schema, "required")):
            return False
        for key in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, wanted in get_mapping(schema, key).items():
                if name not in value:
                    continue
                if isinstance(wanted, list):
                    if not all(each in value for each in wanted):
                        return False
                elif not self.is_valid(value, wanted, depth):
                    return False
        if "unevaluatedProperties" in schema:
            evaluated = self._evaluated_names(value, schema, depth)
            rest = schema["unevaluatedProperties"]
            if not all(self.is_valid(value[n], rest, depth) for n in value if n not in evaluated):
                return False
        name_schema = schema.get("propertyNames", True)
        return all(
            self.is_valid(name, name_schema, depth)
            and all(self.is_valid(item, each, depth) for each in property_schemas(name, schema))
            for name, item in value.items()
        )

    def _evaluated_names(self, value: dict[str, Json], schema: Schema, depth: int) -> set[str]:
        """Return the properties that the schema, or one in it for the same value (as in `allOf`),
        describes; a schema that the value does not fit describes none."""
        if not isinstance(schema, dict) or not self.is_valid(
            value, {k: v for k, v in schema.items() if k != "unevaluatedProperties"}, depth + 1
        ):
            return set()
        if "additionalProperties" in schema:
            return set(value)
        described = {name for name in value if declared_schemas(name, schema)}
        inner = [self.references.resolve(schema[key]) for key in REFERENCES if key in schema]
        for key in ("allOf", "anyOf", "oneOf"):
            inner += get_list(schema, key)
        if "if" in schema:
            is_valid = self.is_valid(value, schema["if"], depth)
            inner += [schema["if"], schema.get("then")] if is_valid else [schema.get("else")]
        dependent = get_mapping(schema, "dependentSchemas")
        inner += [each for name, each in dependent.items() if name in value]
        return described.union(*(self._evaluated_names(value, each, depth + 1) for each in inner))

    def _is_valid_array(self, value: Json, schema: Mapping[str, Json], depth: int) -> bool:
        """Return True if the value meets the keywords for arrays, or is no array."""
        if not isinstance(value, list):
            return True
        if not _is_within(len(value), schema, "minItems", "maxItems"):
            return False
        if schema.get("uniqueItems") is True:
            self.budget.spend(len(value))
            if len(set(map(canonical_json, value))) < len(value):
                return False
        if "contains" in schema:
            minimum, maximum = get_count(schema, "minContains"), get_count(schema, "maxContains")
            minimum = 1 if minimum is None else minimum
            contained = sum(self.is_valid(item, schema["contains"], depth) for item in value)
            if contained < minimum or (maximum is not None and contained > maximum):
                return False
        return all(self.is_valid(v, item_schema(i, schema), depth) for i, v in enumerate(value))


def declared_schemas(name: str, schema: Mapping[str, Json]) -> list[Schema]:
    """Return the schemas that an object schema declares for a property by name or pattern."""
    properties = get_mapping(schema, "properties")
    schemas = [properties[name]] if name in properties else []
    return schemas + [
        s for p, s in get_mapping(schema, "patternProperties").items() if matches_pattern(p, name)
    ]


def property_schemas(name: str, schema: Mapping[str, Json]) -> list[Schema]:
    """Return the declared schemas of a property; without any, `additionalProperties` or True."""
    return declared_schemas(name, schema) or [schema.get("additionalProperties", True)]


def item_schema(index: int, schema: Mapping[str, Json]) -> Schema:
    """Return the schema for the item at an index: of `prefixItems`, `items` or draft 7's lists, or
    True. `unevaluatedItems` counts only without `items` and keywords such as `allOf`."""
    items = schema.get("items", True)
    if "items" not in schema and not any(key in schema for key in IN_PLACE_KEYWORDS):
        items = schema.get("unevaluatedItems", True)
    if isinstance(items, list):
        return items[index] if index < len(items) else schema.get("additionalItems", True)
    first = get_list(schema, "prefixItems")
    return first[index] if index < len(first) else items


def _is_within(size: int, schema: Mapping[str, Json], min_key: str, max_key: str) -> bool:
    """Return True if a size is within the bounds that two keywords set."""
    low, high = get_count(schema, min_key), get_count(schema, max_key)
    return (low is None or size >= low) and (high is None or size <= high)


def _is_in_bounds(value: int | float, schema: Mapping[str, Json]) -> bool:
    """Return True if a number meets its bounds, of old and new drafts, and `multipleOf`."""
    fraction = to_fraction(value)
    low, high = get_number(schema, "minimum"), get_number(schema, "maximum")
    over, under = get_number(schema, "exclusiveMinimum"), get_number(schema, "exclusiveMaximum")
    if schema.get("exclusiveMinimum") is True:
        over = low
    if schema.get("exclusiveMaximum") is True:
        under = high
    step = get_number(schema, "multipleOf")
    return (
        (low is None or fraction >= low)
        and (high is None or fraction <= high)
        and (over is None or fraction > over)
        and (under is None or fraction < under)
        and (step is None or _is_multiple(value, schema["multipleOf"]))
    )


def _is_multiple(value: int | float, step: Json) -> bool:
    """Return True if a value is a multiple of `step`, both exactly and in floating point. Raises
    SchemaError for a step of 0."""
    assert isinstance(step, int | float)
    if not step:
        raise SchemaError("'multipleOf' must be above 0.")
    if to_fraction(value) % to_fraction(step):
        return False
    if isinstance(value, int) and isinstance(step, int):
        return True
    try:
        return (value / step).is_integer()
    except OverflowError:
        # All numbers of this size are whole.
        return True
