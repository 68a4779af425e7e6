"""The examples pass, also beside the demo and one another."""

import asyncio

import pytest

from scenarios_app.engine.document import compile_scenario
from scenarios_app.engine.document.files import read_files
from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.matching.lint import lint
from scenarios_app.play.conversation import examples
from scenarios_app.play.player import FixedCatalog, play
from scenarios_app.play.report import to_text
from scenarios_app.serving.options import Options
from tests.play.runs import answering_steps

KEYS = ["answer", "tool-loop", "fails-first", "cut-stream", "thinking", "structured", "two-tools"]


def test_examples_are_in_the_order_of_the_page() -> None:
    assert list(examples()) == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_example_passes_its_conversation_and_uses_every_step(key: str) -> None:
    example = examples()[key]
    others = read_files("examples/scenarios")
    documents = [*others, *(one.scenario for one in examples().values())]
    catalog = FixedCatalog(build_index([compile_scenario(document) for document in documents]))
    run = asyncio.run(
        play(
            example.conversation, catalog=catalog, options=Options(), scenario=example.scenario.name
        )
    )
    assert run.passed, to_text([run])
    steps = {(example.scenario.name, step.name) for step in example.scenario.steps}
    assert answering_steps(run) == steps


def test_examples_have_no_lint_warnings() -> None:
    warnings = lint([compile_scenario(one.scenario) for one in examples().values()])
    assert list(map(str, warnings)) == []
