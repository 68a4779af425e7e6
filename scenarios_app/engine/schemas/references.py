"""What a `$ref` in a JSON Schema points at. Nothing is ever fetched."""

from collections.abc import Iterator
from urllib.parse import unquote

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.keywords import Schema, SchemaError

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor", "$id", "id")
# What holds values and no schemas.
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})


class References:
    """The references of one schema document."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[str, Schema] = {}
        self._named: dict[str, Schema] | None = None

    def resolve(self, reference: Json) -> Schema:
        """The schema that a reference means; raises SchemaError where there is none."""
        if not isinstance(reference, str):
            raise SchemaError("'$ref' must be a string.")
        if reference not in self._known:
            self._known[reference] = self._find(reference)
        return self._known[reference]

    def check(self) -> None:
        """Raise SchemaError for a reference anywhere in the document that means nothing."""
        for schema in _schemas_in(self._root):
            for key in REFERENCES:
                # A property may be called so too, and then holds a schema.
                if isinstance(schema.get(key), str):
                    self.resolve(schema[key])

    def _find(self, reference: str) -> Schema:
        before, _, pointer = reference.partition("#")
        found = self._named_schema(before) if before else self._root
        if not pointer:
            return found
        if not pointer.startswith("/"):
            return self._named_schema(f"#{pointer}", reference)
        for step in pointer[1:].split("/"):
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise _broken(reference)
        if isinstance(found, dict | bool):
            return found
        raise _broken(reference)

    def _named_schema(self, name: str, reference: str = "") -> Schema:
        if self._named is None:
            self._named = {}
            for schema in _schemas_in(self._root):
                for key in _ANCHORS:
                    if isinstance(given := schema.get(key), str):
                        mark = "" if key in ("$id", "id") else "#"
                        self._named.setdefault(mark + given, schema)
        if name in self._named:
            return self._named[name]
        raise _broken(reference or name)


def _broken(reference: str) -> SchemaError:
    return SchemaError(f"reference '{reference[:200]}' cannot be resolved.")


def _schemas_in(root: Schema) -> Iterator[dict[str, Json]]:
    pending: list[Json] = [root]
    while pending:
        match pending.pop():
            case dict() as schema:
                yield schema
                pending.extend(v for key, v in schema.items() if key not in _VALUES)
            case list() as several:
                pending.extend(several)
