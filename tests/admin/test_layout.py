"""The editor shows every column, under a name that no other has."""

from collections import Counter

import pytest
from django.test import Client

from scenarios_app.admin.editor.layout import SCENARIO, STEP, Group, fields_of
from scenarios_app.engine.conditions.texts import compile_regex
from scenarios_app.models import Scenario, Step

# The place among the steps is where the row is.
ELSEWHERE = {"id", "scenario", "order"}


@pytest.mark.parametrize(("groups", "model"), [(STEP, Step), (SCENARIO, Scenario)])
def test_every_column_that_can_be_edited_has_one_place(
    groups: tuple[Group, ...], model: type[Step | Scenario]
) -> None:
    columns = {field.name for field in model._meta.concrete_fields if field.editable} - ELSEWHERE
    columns -= {"created_at", "updated_at"}
    assert Counter(fields_of(groups)) == Counter(columns)


@pytest.mark.parametrize("groups", [STEP, SCENARIO])
def test_a_name_means_one_field(groups: tuple[Group, ...]) -> None:
    labels = Counter(cell.label for group in groups for cell in group.cells)
    assert [label for label, count in labels.items() if count > 1] == []


@pytest.mark.parametrize("groups", [STEP, SCENARIO])
def test_cells_fit_their_row(groups: tuple[Group, ...]) -> None:
    assert {cell.width for group in groups for cell in group.cells} <= set(range(2, 10)) | {12}


def test_what_one_needs_first_is_not_folded() -> None:
    open_groups = [group.title for group in STEP if not group.folded]
    assert open_groups == ["If the request matches", "Then reply"]


def test_who_writes_a_regex_is_told_of_ascii(root: Client) -> None:
    page = root.get("/admin/scenarios_app/scenario/add/").content.decode()
    assert r"\w, \b, \d and \s match ASCII only: \w+$ finds ln in Köln; [\pL\pN_]" in page
    found = compile_regex(r"(?P<found>\w+)$").search("Köln")
    assert found is not None and found.groupdict("") == {"found": "ln"}
