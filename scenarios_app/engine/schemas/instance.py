"""Makes a value that meets a JSON Schema, always the same for the same key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from random import Random

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.alternatives import Branch, expand_branches
from scenarios_app.engine.schemas.fit import (
    IN_PLACE_KEYWORDS,
    SchemaValidator,
    StepBudget,
    item_schema,
    property_schemas,
)
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    TYPES,
    Parts,
    References,
    Schema,
    SchemaError,
    canonical_json,
    get_count,
    get_list,
    get_mapping,
    get_names,
    types_of,
)
from scenarios_app.engine.schemas.patterns import make_sample
from scenarios_app.engine.schemas.scalars import draw_numbers, draw_strings

# Deeper or beyond this many values, optional parts are left out.
_MAX_FULL_DEPTH, _MAX_FULL_VALUES = 4, 400
_MAX_DEPTH = 32
_TRIES = 60
# Names tried for properties beyond those that the schema names.
_MAX_INVENTED_NAMES = 200
_SPARE_ITEMS = 2

# Types implied by the keywords of a schema without `type`.
_KEYWORDS_BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties"),
        *("propertyNames", "minProperties", "maxProperties", "dependentRequired"),
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def make_instance(schema: Schema, key: str, *beside: Schema) -> Json:
    """Return a value for an automatic answer: it fits a schema and those beside it, equal for equal
    keys. Raises SchemaError if a schema is invalid or if no value is made in 20,000 steps."""
    references = References(schema)
    references.check()
    fit = SchemaValidator(references, StepBudget())
    maker = _InstanceMaker(Random(key), fit)
    for value in maker.values((schema, *beside), _Location()):
        return value
    assert maker.error is not None
    raise maker.error


@dataclass(frozen=True, slots=True)
class _Location:
    """A location in the value: the names and indexes, and the references followed, on the way."""

    path: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def below(self, step: str, branch: Branch) -> "_Location":
        """Return the location of the property or item `step`; add the branch's references."""
        return _Location((*self.path, step), (*self.references, *branch.references))


@dataclass(slots=True)
class _InstanceMaker:
    """Makes values that fit schemas; `value_count` counts them, also those inside others. `error`
    says why and where there was none. Arguments `lean` ask for values without optional parts."""

    rng: Random
    fit: SchemaValidator
    value_count: int = 0
    error: SchemaError | None = None

    def values(self, schemas: tuple[Schema, ...], location: _Location) -> Iterator[Json]:
        """Yield values that fit all schemas, preferred ones first; a value can repeat. Without one,
        set `error`. Raises SchemaError for an invalid or too deep schema and too many steps."""
        if len(location.path) > _MAX_DEPTH:
            raise SchemaError(f"it nests deeper than {_MAX_DEPTH} levels.", location.path)
        lean = len(location.path) > _MAX_FULL_DEPTH or self.value_count > _MAX_FULL_VALUES
        is_found = False
        order = partial(self._order_alternatives, lean=lean)
        for branch in expand_branches(schemas, order, self.fit):
            if any(location.references.count(name) > 1 for name in branch.references):
                self.error = SchemaError("it nests without end.", location.path)
                continue
            within = lean or any(name in location.references for name in branch.references)
            for value in self._branch_values(branch, location, lean=within):
                self.fit.budget.spend()
                if all(self.fit.is_valid(value, schema) for schema in schemas):
                    is_found = True
                    self.value_count += 1
                    yield value
        if not is_found and self.error is None:
            self.error = SchemaError("no value fits it.", location.path)

    def _order_alternatives(self, alternatives: Sequence[Schema], *, lean: bool) -> list[Schema]:
        """Return the alternatives from a random one on, null last; if `lean`, by the size of their
        values. Raises SchemaError if there are none."""
        if not alternatives:
            raise SchemaError("'anyOf' and 'oneOf' must not be empty.")
        return sorted(self._rotate(alternatives), key=_size_rank if lean else _is_null_schema)

    def _rotate(self, values: Sequence[Json]) -> list[Json]:
        """Return the values from a random one on, followed by those before it."""
        start = int(self.rng.random() * len(values))
        return [*values[start:], *values[:start]]

    def _branch_values(self, branch: Branch, location: _Location, *, lean: bool) -> Iterator[Json]:
        """Yield values for one branch: those of `enum` or `const`, else its examples and then
        random ones of each possible type. Not all fit."""
        enumerations = [p for p in branch.parts if "const" in p or "enum" in p]
        if enumerations:
            yield from self._enumerated_values(enumerations)
            return
        yield from self._example_values(branch.parts)
        for name in _ordered_types(branch.parts):
            match name:
                case "object":
                    yield from self._objects(branch, location, lean=lean)
                case "array":
                    yield from self._arrays(branch, location, lean=lean)
                case "string":
                    yield from draw_strings(branch.parts, self.rng)
                case "boolean":
                    first = self.rng.random() < 0.5
                    yield from (first, not first)
                case "null":
                    yield None
                case _:
                    yield from draw_numbers(branch.parts, self.rng, integer=name == "integer")

    def _enumerated_values(self, parts: Parts) -> Iterator[Json]:
        """Yield the values of a `const` or the shortest `enum`, from a random one on, null last."""
        lists = [[p["const"]] if "const" in p else get_list(p, "enum") for p in parts]
        yield from sorted(self._rotate(min(lists, key=len)), key=lambda value: value is None)

    def _example_values(self, parts: Parts) -> Iterator[Json]:
        """Yield the examples and defaults of schemas, except null and empty ones."""
        for part in parts:
            examples = part.get("examples")
            values = [*examples] if isinstance(examples, list) else []
            values += [part[key] for key in ("example", "default") if key in part]
            yield from (value for value in values if value not in (None, "", [], {}))

    def _objects(self, branch: Branch, location: _Location, *, lean: bool) -> Iterator[Json]:
        """Yield objects with the required properties and, unless `lean`, all or random declared
        ones. Ends after 60, or if a required property or too many others have no value."""
        parts = branch.parts
        required = list(dict.fromkeys(name for p in parts for name in get_names(p, "required")))
        declared = list(dict.fromkeys(name for p in parts for name in get_mapping(p, "properties")))
        minimum = max((get_count(p, "minProperties") or 0 for p in parts), default=0)
        self.fit.budget.check(minimum)
        bounds = [n for p in parts if (n := get_count(p, "maxProperties")) is not None]
        maximum = min(bounds, default=max(minimum, len(declared) + len(required)))
        if len(required) > maximum:
            return
        for attempt in range(_TRIES):
            chosen = set(required)
            for name in declared:
                wanted = not lean and (attempt % 2 == 0 or self.rng.random() < 0.5)
                if len(chosen) < maximum and (wanted or len(chosen) < minimum):
                    chosen |= {name}
            if len(added := self._with_dependents(parts, chosen)) <= maximum:
                chosen = added
            ordered = [name for name in declared if name in chosen]
            names = dict.fromkeys((*ordered, *required, *sorted(chosen)))
            instance = self._object(branch, location, names, minimum, set(required))
            if instance is None or len(instance) < minimum:
                return
            yield instance

    def _with_dependents(self, parts: Parts, chosen: set[str]) -> set[str]:
        """Return these names and those that they require by `dependentRequired`."""
        names, size = set(chosen), -1
        while len(names) > size:
            size = len(names)
            for part in parts:
                for key in ("dependentRequired", "dependencies"):
                    for name, wanted in get_mapping(part, key).items():
                        if name in names and isinstance(wanted, list):
                            names |= {each for each in wanted if isinstance(each, str)}
        return names

    def _object(
        self,
        branch: Branch,
        location: _Location,
        chosen: Mapping[str, None],
        minimum: int,
        required: set[str],
    ) -> dict[str, Json] | None:
        """Return an object of these properties, without optional ones that have no value, and of
        others up to `minimum` if possible. Return None if a required property has no value."""
        parts = [*branch.parts]
        for part in branch.parts:
            for key in ("dependentSchemas", "dependencies"):
                dependents = get_mapping(part, key).items()
                parts += [s for n, s in dependents if n in chosen and isinstance(s, dict)]
        instance: dict[str, Json] = {}

        def add_property(name: str) -> bool:
            """Add a property with its first possible value; return False if there is none."""
            schemas = _combined_property_schemas(name, parts)
            for value in self.values(schemas, location.below(name, branch)):
                instance[name] = value
                return True
            return False

        for name in chosen:
            if not add_property(name) and name in required:
                return None
        if len(instance) < minimum:
            for name in islice(self._candidate_names(parts), minimum + _MAX_INVENTED_NAMES):
                self.fit.budget.spend()
                if name not in instance and all(
                    self.fit.is_valid(name, part.get("propertyNames", True)) for part in parts
                ):
                    add_property(name)
                if len(instance) >= minimum:
                    break
        return instance

    def _candidate_names(self, parts: Parts) -> Iterator[str]:
        """Yield names to try for more properties, without end: declared ones, some for patterns
        and for `propertyNames`, then `property1`, `property2` and so on."""
        for part in parts:
            yield from get_mapping(part, "properties")
        for attempt in range(_TRIES):
            for part in parts:
                for pattern in get_mapping(part, "patternProperties"):
                    yield make_sample(pattern, self.rng, attempt % 9)
        for schema in [p["propertyNames"] for p in parts if "propertyNames" in p]:
            for branch in expand_branches((schema, {"type": "string"}), list, self.fit):
                names = self._branch_values(branch, _Location(), lean=True)
                yield from (name for name in names if isinstance(name, str))
        yield from (f"property{number}" for number in count(1))

    def _arrays(self, branch: Branch, location: _Location, *, lean: bool) -> Iterator[Json]:
        """Yield at most 60 arrays of random sizes; if `lean`, of the smallest. Each attempt places
        the items for `contains` differently."""
        parts = branch.parts
        minimum = max((get_count(p, "minItems") or 0 for p in parts), default=0)
        bounds = [n for p in parts if (n := get_count(p, "maxItems")) is not None]
        inside = [self._required_items(p) for p in parts if "contains" in p]
        minimum = max(minimum, *map(len, inside), 0)
        self.fit.budget.check(minimum)
        first = max((len(get_list(p, "prefixItems")) for p in parts), default=0)
        # Required items may differ from the first ones.
        wanted = first + sum(map(len, inside)) if inside else 0
        maximum = min(bounds, default=max(minimum, wanted, first + _SPARE_ITEMS + 1))
        if minimum > maximum:
            return
        unique = any(p.get("uniqueItems") is True for p in parts)
        for attempt in range(_TRIES):
            spare = 0 if lean else int(self.rng.random() * (_SPARE_ITEMS + 1))
            size = min(maximum, max(minimum, wanted, 0 if lean else max(first, 1) + spare))
            placed = _place_contained(inside, size, attempt)
            instance = self._array(branch, location, size, unique, placed)
            if len(instance) >= minimum:
                yield instance
            elif attempt >= 2 * size or not inside:
                return

    def _required_items(self, part: Mapping[str, Json]) -> list[Schema]:
        """Return the schema of `contains`, repeated `minContains` times, by default once."""
        minimum = get_count(part, "minContains")
        self.fit.budget.check(minimum or 0)
        return [part["contains"]] * (1 if minimum is None else minimum)

    def _array(
        self,
        branch: Branch,
        location: _Location,
        size: int,
        unique: bool,
        placed: Mapping[int, list[Schema]],
    ) -> list[Json]:
        """Return an array of `size` items; fewer if there is no value for an index or, if `unique`,
        no other one. `placed` are the schemas of `contains` by index."""
        items: list[Json] = []
        used: set[str] = set()
        for index in range(size):
            schemas = (*(item_schema(index, p) for p in branch.parts), *placed.get(index, ()))
            for value in self.values(schemas, location.below(str(index), branch)):
                if not unique or canonical_json(value) not in used:
                    break
            else:
                return items
            items.append(value)
            used |= {canonical_json(value)} if unique else set()
        return items


def _place_contained(
    inside: list[list[Schema]], size: int, attempt: int
) -> dict[int, list[Schema]]:
    """Return by index the schemas that items must fit; `inside` has a list for each `contains`. Odd
    attempts put the lists on the same items, even ones side by side, each pair one index later."""
    placed: dict[int, list[Schema]] = {}
    index = attempt // 2
    for schemas in inside:
        for number, schema in enumerate(schemas):
            placed.setdefault((index + number) % size, []).append(schema)
        index += len(schemas) if attempt % 2 == 0 else 0
    return placed


def _combined_property_schemas(name: str, parts: Parts) -> tuple[Schema, ...]:
    """Return the schemas that a property is to fit: in each part the declared ones, else the one
    for additional or unevaluated properties. Those that are True are left out."""
    schemas = [schema for part in parts for schema in property_schemas(name, part)]
    is_declared = any(name in get_mapping(part, "properties") for part in parts)
    for part in parts:
        # Without branches, only the schema itself can name properties.
        is_named_inside = is_declared and any(key in part for key in IN_PLACE_KEYWORDS)
        if not is_named_inside and property_schemas(name, part) == [True]:
            schemas.append(part.get("unevaluatedProperties", True))
    return tuple(schema for schema in schemas if schema is not True)


def _ordered_types(parts: Parts) -> list[str]:
    """Return the allowed types: first those that keywords imply, or string without such and without
    `type`; null last; integer only without number."""
    allowed = set(TYPES)
    for part in parts:
        allowed &= types_of(part) or set(TYPES)
    keywords = {key for part in parts for key in part}
    implied = [n for n, words in _KEYWORDS_BY_TYPE.items() if not keywords.isdisjoint(words)]
    if "type" not in keywords and not implied:
        implied = ["string"]
    # If any number is allowed, integers need no attempt of their own.
    allowed -= {"integer"} if "number" in allowed else set()
    order = [name for name in TYPES if name in allowed]
    return sorted(order, key=lambda name: (name not in implied, name == "null"))


def _is_null_schema(schema: Schema) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _size_rank(schema: Schema) -> int:
    """Return a rank of how large a schema's values can get, from 0 (null) to 3 (references)."""
    keywords = schema.keys() if isinstance(schema, dict) else frozenset()
    if not keywords.isdisjoint(REFERENCES):
        return 3
    if not keywords.isdisjoint(("properties", "items", "allOf")):
        return 2
    return 0 if _is_null_schema(schema) or not keywords.isdisjoint(("const", "enum")) else 1
