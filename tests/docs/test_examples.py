"""The manuals have an example of every document key, builder method and control route."""

import ast
import json
import re
from collections.abc import Iterator
from inspect import get_annotations
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from scenarios_app.engine.document import ScenarioDocument, load_documents
from scenarios_app.engine.document.schema_maker import json_schema
from tests.docs.blocks import blocks_of
from tests.docs.builder_tables import CLASSES, FUNCTIONS, methods
from tests.docs.control_tables import operations


def used_keys(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the keys that a document sets, each with the model that defines it."""
    match value:
        case BaseModel():
            for key in value.model_fields_set:
                yield _defining_model(type(value), key), key
                yield from used_keys(getattr(value, key))
        case dict():
            yield from used_keys(list(value.values()))
        case list():
            for item in value:
                yield from used_keys(item)


def _defining_model(model: type[BaseModel], key: str) -> str:
    return next(base.__name__ for base in model.__mro__ if key in get_annotations(base))


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for subclass in model.__subclasses__():
        yield from _models(subclass)


def test_every_key_of_a_document_has_an_example() -> None:
    example_keys = {
        key
        for page in ("scenario-format.md", "faults.md")
        for block in blocks_of(f"docs/reference/{page}")
        if block.language == "json" and '"steps"' in block.text
        for key in used_keys(load_documents(json.loads(block.text)))
    }
    model_names = {*json_schema()["$defs"], ScenarioDocument.__name__}
    all_keys = {
        (_defining_model(model, key), key)
        for model in _models(BaseModel)
        if model.__name__ in model_names
        and model.__module__.startswith("scenarios_app.engine.document.")
        for key in model.model_fields
        if not model.__module__.endswith(".turns")
    }
    assert all_keys - example_keys == {("ScenariosDocument", "scenarios")}
    assert len(example_keys) > 100


@pytest.mark.parametrize("page", ["docs/scenarios.md", "docs/reference/scenario-format.md"])
def test_every_example_of_a_document_is_followed_by_a_transcript(page: str) -> None:
    documents = [
        (block, after) for block, after in pairwise(blocks_of(page)) if '"steps"' in block.text
    ]
    without_transcript = [
        block.file for block, after in documents if after.language != "transcript"
    ]
    # The guide stores its first example with curl.
    assert without_transcript == (["greeting.json"] if page == "docs/scenarios.md" else [])
    assert len(documents) >= 10


def test_every_method_of_the_builder_has_an_example() -> None:
    called_methods = {
        node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        for block in blocks_of("docs/builder.md")
        if block.language == "python"
        for node in ast.walk(ast.parse(block.text))
        if isinstance(node, ast.Call)
    }
    all_methods = {method.__name__ for owner in CLASSES for method in methods(owner)} | {*FUNCTIONS}
    assert all_methods - called_methods == set()
    assert len(all_methods) > 50


def test_every_route_of_the_control_api_has_an_example() -> None:
    example_requests = {
        (explicit_method or ("POST" if " -d" in command else "GET"), path)
        for block in blocks_of("docs/control.md")
        for command in re.split(r"\bcurl\b", block.text)[1:]
        for explicit_method, path in re.findall(
            r"^(?:.*?-X (\w+) )?.*?127\.0\.0\.1:8000(/control/[^'\" ?]*)", command.splitlines()[0]
        )
    }
    routes_without_example = {
        (method, route)
        for method, route, _ in operations()
        if not any(
            method == example_method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), path)
            for example_method, path in example_requests
        )
    }
    assert routes_without_example == set()
    assert len(example_requests) > 10
