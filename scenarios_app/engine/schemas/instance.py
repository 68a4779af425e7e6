"""A value for a JSON Schema: one that fits it, always the same for the same key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.alternatives import Alternatives, Way
from scenarios_app.engine.schemas.fit import INNER, Budget, Fit, schema_at, schemas_of
from scenarios_app.engine.schemas.keywords import (
    REFERENCES,
    TYPES,
    Parts,
    References,
    Schema,
    SchemaError,
    canonical,
    listed,
    mapped,
    names,
    types_of,
    whole,
)
from scenarios_app.engine.schemas.patterns import sample
from scenarios_app.engine.schemas.scalars import numbers, strings

# Below so many levels, and beyond so many values, there is only what must be.
_DEEP, _MANY = 4, 400
_MAX_DEPTH = 32
_TRIES = 60
# So many names of our own are tried where there must be more properties than anybody names.
_NAMES = 200
_SPARE_ITEMS = 2

# What a schema without a type is for, by the words in it.
_MEANT: Mapping[str, tuple[str, ...]] = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties"),
        *("propertyNames", "minProperties", "maxProperties", "dependentRequired"),
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def instance(schema: Schema, key: str, *beside: Schema) -> Json:
    """A value that fits a schema, and those beside it. Raises SchemaError where there is none,
    where none is found in so many steps, or where the schema is no schema."""
    references = References(schema)
    references.check()
    budget = Budget()
    making = _Making(Random(key), Fit(references, budget), Alternatives(references, budget), budget)
    for value in making.values((schema, *beside), _Where()):
        return value
    raise SchemaError(making.why or "no value fits it.", making.blamed)


@dataclass(frozen=True, slots=True)
class _Where:
    """A place in the value: the names and indexes down to it, and the references that led there."""

    path: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def at(self, step: str, way: Way) -> "_Where":
        return _Where((*self.path, step), (*self.references, *way.references))


@dataclass(slots=True)
class _Making:
    """One value being made. `blamed` is the last place for which there was nothing, and `why`."""

    rng: Random
    fit: Fit
    alternatives: Alternatives
    budget: Budget
    made: int = 0
    blamed: tuple[str, ...] = ()
    why: str = ""

    def values(self, schemas: tuple[Schema, ...], where: _Where) -> Iterator[Json]:
        """Values that fit all schemas, best ones first, one after another different if they can
        be."""
        if len(where.path) > _MAX_DEPTH:
            raise SchemaError(f"it nests deeper than {_MAX_DEPTH} levels.", where.path)
        lean = len(where.path) > _DEEP or self.made > _MANY
        found = False
        for way in self.alternatives.of(schemas, lambda branches: self._order(branches, lean)):
            if any(where.references.count(name) > 1 for name in way.references):
                self._blame(where, "it nests without end.")
                continue
            within = lean or any(name in where.references for name in way.references)
            for value in self._of(way, where, lean=within):
                self.budget.spend()
                if all(self.fit.fits(value, schema) for schema in schemas):
                    found = True
                    self.made += 1
                    yield value
        if not found and not self.why:
            self._blame(where, "no value fits it.")

    def _blame(self, where: _Where, why: str) -> None:
        self.blamed, self.why = where.path, why

    def _order(self, branches: Sequence[Schema], lean: bool) -> list[Schema]:
        """Branches by turns, nothing last; where there is to be little, the simplest first."""
        if not branches:
            raise SchemaError("'anyOf' and 'oneOf' must not be empty.")
        start = int(self.rng.random() * len(branches))
        turned = [*branches[start:], *branches[:start]]
        return sorted(turned, key=_weight if lean else _is_nothing)

    def _of(self, way: Way, where: _Where, *, lean: bool) -> Iterator[Json]:
        """Values for one way, most of which fit."""
        given = [p for p in way.parts if "const" in p or "enum" in p]
        if given:
            yield from self._listed(given)
            return
        yield from self._suggested(way.parts)
        for name in _types(way.parts):
            match name:
                case "object":
                    yield from self._objects(way, where, lean=lean)
                case "array":
                    yield from self._arrays(way, where, lean=lean)
                case "string":
                    yield from strings(way.parts, self.rng)
                case "boolean":
                    first = self.rng.random() < 0.5
                    yield from (first, not first)
                case "null":
                    yield None
                case _:
                    yield from numbers(way.parts, self.rng, integer=name == "integer")

    def _listed(self, parts: Parts) -> Iterator[Json]:
        lists = [[p["const"]] if "const" in p else listed(p, "enum") for p in parts]
        values = min(lists, key=len)
        start = int(self.rng.random() * len(values))
        turned = [*values[start:], *values[:start]]
        yield from sorted(turned, key=lambda value: value is None)

    def _suggested(self, parts: Parts) -> Iterator[Json]:
        """What a schema gives as an example or takes for granted, if that says something."""
        for part in parts:
            examples = part.get("examples")
            given = [*examples] if isinstance(examples, list) else []
            given += [part[key] for key in ("example", "default") if key in part]
            yield from (value for value in given if value not in (None, "", [], {}))

    def _objects(self, way: Way, where: _Where, *, lean: bool) -> Iterator[Json]:
        parts = way.parts
        required = list(dict.fromkeys(name for p in parts for name in names(p, "required")))
        declared = list(dict.fromkeys(name for p in parts for name in mapped(p, "properties")))
        least = max((whole(p, "minProperties") or 0 for p in parts), default=0)
        self.budget.check(least)
        bounds = [n for p in parts if (n := whole(p, "maxProperties")) is not None]
        most = min(bounds, default=max(least, len(declared) + len(required)))
        if len(required) > most:
            return
        for attempt in range(_TRIES):
            chosen = set(required)
            for name in declared:
                wanted = not lean and (attempt % 2 == 0 or self.rng.random() < 0.5)
                if len(chosen) < most and (wanted or len(chosen) < least):
                    chosen |= {name}
            if len(added := self._with_dependents(parts, chosen)) <= most:
                chosen = added
            ordered = [name for name in declared if name in chosen]
            ordered += [name for name in (*required, *sorted(chosen)) if name not in ordered]
            made = self._object(way, where, dict.fromkeys(ordered), least, set(required))
            if made is None or len(made) < least:
                return
            yield made

    def _with_dependents(self, parts: Parts, chosen: set[str]) -> set[str]:
        """The names that are there, with those that these want beside them."""
        found, size = set(chosen), -1
        while len(found) > size:
            size = len(found)
            for part in parts:
                for key in ("dependentRequired", "dependencies"):
                    for name, wanted in mapped(part, key).items():
                        if name in found and isinstance(wanted, list):
                            found |= {each for each in wanted if isinstance(each, str)}
        return found

    def _object(
        self, way: Way, where: _Where, chosen: Mapping[str, None], least: int, required: set[str]
    ) -> dict[str, Json] | None:
        """An object of these properties, and more where there must be more; None where one that is
        required can be nothing."""
        parts = [*way.parts]
        for part in way.parts:
            for key in ("dependentSchemas", "dependencies"):
                parts += [
                    s for n, s in mapped(part, key).items() if n in chosen and isinstance(s, dict)
                ]
        made: dict[str, Json] = {}
        for name in chosen:
            value = self._first(_of_property(name, parts), where.at(name, way))
            if value:
                made[name] = value[0]
            elif name in required:
                return None
        for name in islice(self._names(parts), least + _NAMES) if len(made) < least else ():
            self.budget.spend()
            if name in made or not self._may_be_called(name, parts):
                continue
            value = self._first(_of_property(name, parts), where.at(name, way))
            if value:
                made[name] = value[0]
            if len(made) >= least:
                break
        return made

    def _names(self, parts: Parts) -> Iterator[str]:
        """Names for properties that nobody has named."""
        for part in parts:
            yield from mapped(part, "properties")
        for attempt in range(_TRIES):
            for part in parts:
                for pattern in mapped(part, "patternProperties"):
                    yield sample(pattern, self.rng, attempt % 9)
        wanted = [p["propertyNames"] for p in parts if "propertyNames" in p]
        for schema in wanted:
            for way in self.alternatives.of((schema, {"type": "string"}), list):
                named = self._of(way, _Where(), lean=True)
                yield from (name for name in named if isinstance(name, str))
        yield from (f"property{number}" for number in count(1))

    def _may_be_called(self, name: str, parts: Parts) -> bool:
        return all(self.fit.fits(name, part.get("propertyNames", True)) for part in parts)

    def _first(self, schemas: tuple[Schema, ...], where: _Where) -> list[Json]:
        return list(islice(self.values(schemas, where), 1))

    def _arrays(self, way: Way, where: _Where, *, lean: bool) -> Iterator[Json]:
        parts = way.parts
        least = max((whole(p, "minItems") or 0 for p in parts), default=0)
        bounds = [n for p in parts if (n := whole(p, "maxItems")) is not None]
        inside = [self._contained(p) for p in parts if "contains" in p]
        least = max(least, *map(len, inside), 0)
        self.budget.check(least)
        first = max((len(listed(p, "prefixItems")) for p in parts), default=0)
        # What must be in it may be none of the first ones.
        wanted = first + sum(map(len, inside)) if inside else 0
        most = min(bounds, default=max(least, wanted, first + _SPARE_ITEMS + 1))
        if least > most:
            return
        unique = any(p.get("uniqueItems") is True for p in parts)
        for attempt in range(_TRIES):
            spare = 0 if lean else int(self.rng.random() * (_SPARE_ITEMS + 1))
            size = min(most, max(least, wanted, 0 if lean else max(first, 1) + spare))
            placed = _placed(inside, size, attempt)
            made = self._array(way, where, size, unique, placed)
            if len(made) >= least:
                yield made
            elif attempt >= 2 * size or not inside:
                return

    def _contained(self, part: Mapping[str, Json]) -> list[Schema]:
        """What an array must contain, as often as it must."""
        least = whole(part, "minContains")
        self.budget.check(least or 0)
        return [part["contains"]] * (1 if least is None else least)

    def _array(
        self, way: Way, where: _Where, size: int, unique: bool, placed: Mapping[int, list[Schema]]
    ) -> list[Json]:
        """An array of so many items, or of fewer where there are no more that differ; at some
        indexes with what it must contain."""
        made: list[Json] = []
        taken: set[str] = set()
        for index in range(size):
            schemas = tuple(schema_at(index, part) for part in way.parts)
            schemas = (*schemas, *placed.get(index, ()))
            for value in self.values(schemas, where.at(str(index), way)):
                if not unique or canonical(value) not in taken:
                    break
            else:
                return made
            made.append(value)
            taken |= {canonical(value)} if unique else set()
        return made


def _placed(inside: list[list[Schema]], size: int, attempt: int) -> dict[int, list[Schema]]:
    """At which indexes what must be in an array is put: beside one another and in one by turns, one
    place further on each time."""
    placed: dict[int, list[Schema]] = {}
    index = attempt // 2
    for schemas in inside:
        for number, schema in enumerate(schemas):
            placed.setdefault((index + number) % size, []).append(schema)
        index += len(schemas) if attempt % 2 == 0 else 0
    return placed


def _of_property(name: str, parts: Parts) -> tuple[Schema, ...]:
    """What schemas together want of a property; one that none of them knows must be allowed by
    those that take no unknown ones."""
    found = [schema for part in parts for schema in schemas_of(name, part)]
    known = any(name in mapped(part, "properties") for part in parts)
    for part in parts:
        # What one without branches does not name itself, nothing in it does.
        if "unevaluatedProperties" in part and not (known and any(key in part for key in INNER)):
            found += [] if schemas_of(name, part) != [True] else [part["unevaluatedProperties"]]
    return tuple(schema for schema in found if schema is not True)


def _types(parts: Parts) -> list[str]:
    """The types to try: those that are meant first, nothing at last, an integer for a number only
    where that is all there is."""
    allowed = set(TYPES)
    for part in parts:
        allowed &= types_of(part) or set(TYPES)
    said = any("type" in part for part in parts)
    meant = [name for name, words in _MEANT.items() if any(w in p for p in parts for w in words)]
    # Who may be given any number is given one of those.
    allowed -= {"integer"} if "number" in allowed else set()
    order = [name for name in TYPES if name in allowed]
    if not said and not meant:
        meant = ["string"]
    return sorted(order, key=lambda name: (name not in meant, name == "null"))


def _is_nothing(schema: Schema) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _weight(schema: Schema) -> int:
    """How much a branch may come to."""
    if not isinstance(schema, dict):
        return 1
    if any(key in schema for key in REFERENCES):
        return 4
    if "properties" in schema or "items" in schema or "allOf" in schema:
        return 3
    return 0 if _is_nothing(schema) or "const" in schema or "enum" in schema else 1
