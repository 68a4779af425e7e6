"""Makes the JSON Schema of documents from their models, for the file that the package holds.
Servers read the file. Nothing else imports this module, which is slow to import."""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from scenarios_app.engine.document.load import ScenariosDocument
from scenarios_app.engine.document.scenario import VERSION
from scenarios_app.engine.shapes import Document

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document, for editors. The loader rejects
    everything the schema rejects, and also checks combinations of keys."""
    _, schema = models_json_schema([(ScenariosDocument, "validation")], schema_generator=_Untitled)
    _describe(schema["$defs"])
    scenario = schema["$defs"]["ScenariosDocument"]["properties"]["scenarios"]["items"]
    return {
        "$schema": _DIALECT,
        "$id": f"urn:mockllm:schema:scenario:{VERSION}",
        "title": "mockllm scenarios",
        "description": 'A scenario, or several as a list or {"scenarios": [...]}.',
        "if": {"type": "array"},
        "then": {"items": scenario, "minItems": 1},
        "else": {
            "if": {"type": "object", "required": ["scenarios"]},
            "then": {"$ref": "#/$defs/ScenariosDocument"},
            "else": scenario,
        },
        **schema,
    }


def _describe(definitions: dict[str, Any]) -> None:
    """Describe each key by the text below the attribute of its model."""
    models = {model.__name__: model for model in _subclasses(Document)}
    for name in definitions.keys() & models.keys():
        properties = definitions[name].get("properties", {})
        texts = _attribute_texts(models[name])
        for field, info in models[name].model_fields.items():
            key = info.alias or field
            if key in properties and field in texts:
                described = {"description": texts[field], **properties[key]}
                # As the generator sorts them.
                properties[key] = dict(sorted(described.items()))


def _subclasses(model: type[Document]) -> Iterator[type[Document]]:
    for subclass in model.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _attribute_texts(model: type[Document]) -> dict[str, str]:
    """Return the text below each attribute of a model and its bases."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, Document) or base.__module__ == Document.__module__:
            continue
        try:
            (definition,) = ast.parse(dedent(inspect.getsource(base))).body
        except OSError:
            # A model that is made at run time describes its fields itself.
            continue
        assert isinstance(definition, ast.ClassDef)
        for line, following in zip(definition.body, definition.body[1:], strict=False):
            match line, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=field)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    texts[field] = inspect.cleandoc(text)
    return texts


class _Untitled(GenerateJsonSchema):
    """A generator that omits field titles, which would repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
