"""The table of a page's fields: places and labels are unique, and each kind has inputs."""

from collections import Counter

import pytest
from django.test import Client

from scenarios_app.admin.editor.inputs import form_fields, input_values
from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.places import IGNORE_CASE, KINDS, REST, Layout
from scenarios_app.engine.conditions.texts import compile_regex


@pytest.mark.parametrize("layout", [STEP, SCENARIO])
def test_places_and_labels_are_unique(layout: Layout) -> None:
    fields = [field for group in layout.groups for field in group.fields]
    for names in (Counter(field.place for field in fields), Counter(f.label for f in fields)):
        assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("layout", [STEP, SCENARIO])
def test_every_field_has_a_known_kind_and_an_input(layout: Layout) -> None:
    assert {field.kind for field in layout.fields.values()} <= {*KINDS, REST, IGNORE_CASE}
    assert form_fields(layout).keys() == input_values(layout, {}, {}).keys()


@pytest.mark.parametrize("layout", [STEP, SCENARIO])
def test_fields_fill_their_rows(layout: Layout) -> None:
    assert {field.width for field in layout.fields.values()} <= set(range(2, 10)) | {12}


def test_message_and_answer_are_not_folded() -> None:
    open_groups = [group.title for group in STEP.groups if not group.folded]
    assert open_groups == ["If the request matches", "Then reply"]


def test_help_text_says_that_regex_classes_are_ascii(root: Client) -> None:
    page = root.get("/admin/scenarios_app/scenario/add/").content.decode()
    assert r"\w, \b, \d and \s match ASCII only: \w+$ finds ln in Köln; [\pL\pN_]" in page
    match = compile_regex(r"(?P<found>\w+)$").search("Köln")
    assert match is not None and match.groupdict("") == {"found": "ln"}
