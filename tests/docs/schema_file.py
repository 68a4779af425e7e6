"""The JSON Schema of scenario documents with an example for each key, from the blocks of the pages.

`make docs` writes it to the package.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator

from scenarios_app.engine.document import SCHEMAS
from scenarios_app.engine.document.schema_maker import json_schema
from tests.docs.blocks import blocks_of

PAGES = (
    *("docs/reference/scenario-format.md", "docs/reference/faults.md"),
    *("docs/turn-scripts.md", "docs/scenarios.md"),
)
FILE = SCHEMAS / "scenario.json"
_REF = "#/$defs/"

Schema: TypeAlias = dict[str, Any]


def schema_text() -> str:
    """Return the content of the file."""
    schema = json_schema()
    by_key = examples_by_key(schema)
    by_meaning: dict[tuple[str, str], list[Any]] = {}
    for (model, key), examples in sorted(by_key.items()):
        meaning = schema["$defs"][model]["properties"][key]["description"]
        by_meaning.setdefault((key, meaning), []).extend(examples)
    for model, model_schema in schema["$defs"].items():
        for key, value in model_schema.get("properties", {}).items():
            # Models share keys: an example of one of them is an example of all.
            shared = by_meaning.get((key, value["description"]), [])
            if examples := by_key.get((model, key)) or shared:
                value["examples"] = [
                    min(examples, key=lambda example: (not example, len(json.dumps(example))))
                ]
    return json.dumps(schema, ensure_ascii=False, indent=1) + "\n"


def examples_by_key(schema: Schema) -> Mapping[tuple[str, str], list[Any]]:
    """Return the values that the pages' documents give to each key, by model and key."""
    examples: dict[tuple[str, str], list[Any]] = {}
    for document in _documents(Draft202012Validator(schema)):
        for model, key, value in _keys(schema, schema, document, ""):
            examples.setdefault((model, key), []).append(value)
    return examples


def write_schema() -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(schema_text(), encoding="utf-8")


def _documents(validator: Any) -> Iterator[Any]:
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "json" and ('"steps"' in block.text or '"turns"' in block.text):
                document = json.loads(block.text)
                if validator.is_valid(document):
                    yield document


def _keys(root: Schema, schema: Any, value: Any, model: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the keys of a value with their models, as the schema reads them."""
    if not isinstance(schema, dict):
        return
    if (ref := schema.get("$ref", "")).startswith(_REF):
        name = ref.removeprefix(_REF)
        yield from _keys(root, root["$defs"][name], value, name)
    if "if" in schema:
        branch = "then" if _fits(root, schema["if"], value) else "else"
        yield from _keys(root, schema.get(branch), value, model)
    if "anyOf" in schema:
        branches = (branch for branch in schema["anyOf"] if _fits(root, branch, value))
        yield from _keys(root, next(branches, None), value, model)
    if isinstance(value, list):
        for item in value:
            yield from _keys(root, schema.get("items"), item, model)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key, item in value.items():
            if key in properties:
                yield model, key, item
            key_schema = properties.get(key, schema.get("additionalProperties"))
            yield from _keys(root, key_schema, item, model)


def _fits(root: Schema, schema: Schema, value: Any) -> bool:
    """Return True if a part of the schema accepts the value."""
    return Draft202012Validator({**schema, "$defs": root["$defs"]}).is_valid(value)
