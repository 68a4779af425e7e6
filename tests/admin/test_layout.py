"""The editor shows every column with a unique label."""

from collections import Counter

import pytest
from django.test import Client

from scenarios_app.admin.editor.layout import SCENARIO, STEP, Group, fields_of
from scenarios_app.engine.conditions.texts import compile_regex
from scenarios_app.models import Scenario, Step

# The position of the row is the step's order.
ELSEWHERE = {"id", "scenario", "order"}


@pytest.mark.parametrize(("groups", "model"), [(STEP, Step), (SCENARIO, Scenario)])
def test_every_editable_column_is_in_one_cell(
    groups: tuple[Group, ...], model: type[Step | Scenario]
) -> None:
    columns = {field.name for field in model._meta.concrete_fields if field.editable} - ELSEWHERE
    columns -= {"created_at", "updated_at"}
    assert Counter(fields_of(groups)) == Counter(columns)


@pytest.mark.parametrize("groups", [STEP, SCENARIO])
def test_field_labels_are_unique(groups: tuple[Group, ...]) -> None:
    labels = Counter(cell.label for group in groups for cell in group.cells)
    assert [label for label, count in labels.items() if count > 1] == []


@pytest.mark.parametrize("groups", [STEP, SCENARIO])
def test_cells_fill_their_rows(groups: tuple[Group, ...]) -> None:
    assert {cell.width for group in groups for cell in group.cells} <= set(range(2, 10)) | {12}


def test_message_and_answer_are_not_folded() -> None:
    open_groups = [group.title for group in STEP if not group.folded]
    assert open_groups == ["If the request matches", "Then reply"]


def test_help_text_says_that_regex_classes_are_ascii(root: Client) -> None:
    page = root.get("/admin/scenarios_app/scenario/add/").content.decode()
    assert r"\w, \b, \d and \s match ASCII only: \w+$ finds ln in Köln; [\pL\pN_]" in page
    match = compile_regex(r"(?P<found>\w+)$").search("Köln")
    assert match is not None and match.groupdict("") == {"found": "ln"}
