"""An installed condition, fault or field works in all features without other changes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client as Browser

from scenarios_app import builder
from scenarios_app.admin.editor.inputs import form_fields
from scenarios_app.admin.editor.layout import STEP
from scenarios_app.admin.editor.places import Field, Group, Layout
from scenarios_app.admin.editor.sentence import title_of
from scenarios_app.admin.scenarios.actions import StepsForm
from scenarios_app.builder.conditions import Conditions, methods_of
from scenarios_app.catalog.lint import suspicions_of
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.base import Condition, builder_value
from scenarios_app.engine.conditions.match import (
    CONDITION_KINDS,
)
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.document import DocumentError, dump, load_documents
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.producing.faults import (
    FAULT_KINDS,
    FaultKind,
)
from scenarios_app.engine.shapes.fields import Whole
from scenarios_app.store import document_of, save_document
from scenarios_app.wire.base import Call
from tests.admin.change_cost.acme import KEY, chat
from tests.admin.pages import create_scenario, fields_at, page_of, save
from tests.docs.document_tables import faults_table
from tests.serving.pipelines import Harness, scenario, text_step


@dataclass(frozen=True, slots=True)
class LengthCondition(Condition):
    """Compares the maximum length of the answer that a request allows."""

    key = "answer_limit"
    shape = Whole | None
    meaning = "The longest answer that the request may ask for."

    max_length: int

    @builder_value
    @staticmethod
    def with_answer_limit(tokens: int) -> object:
        """Match requests for at most this many tokens."""
        return tokens

    @classmethod
    def compile(cls, value: int | None, path: str) -> Iterator[Condition]:
        if value is not None:
            yield cls(path, value)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, int):
            yield f"at most {value} tokens"

    @property
    def expected(self) -> str:
        return f"at most {self.max_length} tokens"

    def holds(self, reader: RequestReader) -> bool:
        max_tokens = reader.request.max_tokens
        return max_tokens is not None and max_tokens <= self.max_length

    def actual(self, reader: RequestReader) -> str:
        return f"{reader.request.max_tokens} tokens"

    def implies(self, other: Condition) -> bool:
        return isinstance(other, LengthCondition) and self.max_length <= other.max_length


@pytest.fixture
def length(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the condition `answer_limit`, as its line in the list does at the start."""
    for name, method in methods_of(LengthCondition):
        monkeypatch.setattr(Conditions, name, method, raising=False)
    CONDITION_KINDS.append(LengthCondition)
    yield
    CONDITION_KINDS.remove(LengthCondition)


def chat_call_with_limit(tokens: int) -> Call:
    body = {"model": "acme-1", "messages": [], "max_tokens": tokens}
    body["messages"] = [{"role": "user", "content": "Hello"}]
    return Call("POST", "/acme/chat", {}, {"x-acme": KEY}, json.dumps(body).encode())


SHORT = text_step("short", match={"answer_limit": 10})
LONG = text_step("long", match={"answer_limit": 1000})


@pytest.mark.usefixtures("length")
async def test_added_condition_selects_the_step_and_explains_a_miss() -> None:
    pipeline = Harness(scenario("lengths", SHORT, LONG))
    for tokens, text in ((5, "short"), (500, "long")):
        _, _, body = await pipeline.ask(chat_call_with_limit(tokens))
        assert json.loads(body)["choices"][0]["message"]["content"] == text
    status, _, body = await pipeline.ask(chat_call_with_limit(5000))
    assert status == 404
    assert b"match.answer_limit: expected at most 10 tokens, got 5000 tokens" in body


@pytest.mark.usefixtures("length")
def test_added_condition_is_in_the_schema_and_validated() -> None:
    key = json_schema()["$defs"]["MatchDocument"]["properties"]["answer_limit"]
    assert key["description"] == "The longest answer that the request may ask for."
    wrong = "expected a whole number from 0 to 2147483647"
    with pytest.raises(DocumentError, match=f"match.answer_limit: {wrong}"):
        load_documents(scenario("lengths", text_step("no", match={"answer_limit": "ten"})))


@pytest.mark.usefixtures("length")
def test_added_condition_is_in_titles_builder_and_lint() -> None:
    assert str(title_of(1, SHORT)) == "1 · at most 10 tokens → text “short”"
    scenario_builder: Any = builder.scenario("s")
    document = scenario_builder.with_answer_limit(10).respond_with_text("short").build()
    assert document["steps"][0]["match"] == {"answer_limit": 10}
    for steps, shadowed in (((SHORT, LONG), []), ((LONG, SHORT), [2])):
        suspicions = suspicions_of(load_documents(scenario("lengths", *steps)))
        assert [
            suspicion.step for suspicion in suspicions if suspicion.kind == "shadowed"
        ] == shadowed


@pytest.mark.django_db
@pytest.mark.usefixtures("length")
def test_condition_without_a_field_is_edited_as_json(root: Browser) -> None:
    (document,) = load_documents(scenario("lengths", SHORT))
    scenario_row = save_document(document)
    assert fields_at(root, page_of(scenario_row))["steps-0-match.*"] == '{\n  "answer_limit": 10\n}'
    assert "at most 10 tokens" in root.get(page_of(scenario_row)).content.decode()
    assert save(root, scenario_row).status_code == 302
    assert dump(document_of(scenario_row)) == dump(document)


def test_condition_that_is_not_installed_is_an_unknown_key() -> None:
    with pytest.raises(DocumentError, match="answer_limit: unknown key"):
        load_documents(scenario("lengths", SHORT))
    with pytest.raises(AttributeError, match="with_answer_limit"):
        builder.scenario("s").with_answer_limit  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("kind", CONDITION_KINDS)
def test_builder_sets_every_condition(kind: type[Condition]) -> None:
    names = [name for name, _ in methods_of(kind)]
    # One method sets both, since a provider has a path.
    assert names or kind.key in ("provider", "path")
    assert all(name in dir(builder.scenario("s")) for name in names)


MAINTENANCE = FaultKind(
    "maintenance",
    "down for maintenance (503)",
    "down for maintenance",
    stream="error",
    keys=frozenset({"message", "retry_after_ms"}),
    status=503,
    message="Back soon.",
)


@pytest.fixture
def maintenance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the fault `maintenance`."""
    monkeypatch.setitem(FAULT_KINDS, "maintenance", MAINTENANCE)


MAINTENANCE_FAULT = {"kind": "maintenance"}
FAILING = {"consume": False, "produce": {"fault": MAINTENANCE_FAULT}}


@pytest.mark.usefixtures("maintenance")
async def test_added_fault_is_performed() -> None:
    pipeline = Harness(scenario("down", FAILING))
    status, _, body = await pipeline.ask(chat("Hello"))
    assert (status, json.loads(body)["error"]["message"]) == (503, "Back soon.")
    assert pipeline.journal[0].fault == "maintenance"


@pytest.mark.usefixtures("maintenance")
def test_added_fault_is_in_schema_titles_and_docs() -> None:
    kind = json_schema()["$defs"]["FaultDocument"]["properties"]["kind"]
    assert "maintenance" in kind["anyOf"][0]["enum"]
    assert str(title_of(1, FAILING)) == "1 · anything → down for maintenance"
    assert "| `maintenance` | `message`, `retry_after_ms` |" in faults_table()
    document = builder.scenario("s").respond_with_fault("maintenance", retry_after_ms=5).build()
    assert load_documents(document)
    with pytest.raises(DocumentError, match="does not belong to a fault of kind maintenance"):
        load_documents(
            scenario("down", {"produce": {"fault": {**MAINTENANCE_FAULT, "hold_ms": 1}}})
        )


@pytest.mark.django_db
@pytest.mark.usefixtures("maintenance")
def test_added_fault_can_be_chosen_in_the_editor_and_in_bulk(root: Browser) -> None:
    scenario_row = create_scenario(
        "down", {"produce.fault.kind": "maintenance", "produce.text": ""}
    )
    page = root.get(page_of(scenario_row)).content.decode()
    assert page.count('value="maintenance"') == 2 * 2  # of the step and of a new one
    assert "down for maintenance (503)" in page
    failing = {"steps-0-failures.fault.kind": "maintenance", "steps-0-failures.times": "2"}
    assert save(root, scenario_row, **failing).status_code == 302
    assert dict(StepsForm().fields["failure"].choices)["maintenance"] == MAINTENANCE.label


def test_added_field_is_one_row_of_the_table() -> None:
    seed = Field("produce.seed", "whole", "Seed", 4, example="7")
    layout = Layout(*STEP.groups, Group("More", seed))
    step: dict[str, Any] = {"produce": {"seed": 7, "text": "x"}}
    values, rest = layout.split(step)
    assert (values["produce.seed"], rest) == (7, {})
    assert layout.join(values, rest) == step
    assert layout.find("produce.seed", step) == (seed, [])
    assert form_fields(layout)["produce.seed"].widget.attrs["placeholder"] == "7"
    # Without the row the value is edited as JSON.
    assert STEP.split(step)[1] == {"produce.*": {"seed": 7}}
