"""Groups and tags of scenarios: the list by group, and the bulk actions."""

from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.test import Client

from scenarios_app.models import Draft, Scenario
from scenarios_app.store import document_of
from scenarios_app.store.history import versions_of
from tests.admin.pages import LIST, create_scenario, fields

pytestmark = pytest.mark.django_db

DRAFTS = "/admin/scenarios_app/draft/"


def group_choices(client: Client, **query: str) -> list[tuple[str, int]]:
    """Return the group choices above the list, with their counts."""
    list_groups = client.get(LIST, query).context["cl"].groups
    return [(choice["display"], choice["count"]) for choice in list_groups]


def names(client: Client, url: str = LIST, **query: str) -> list[str]:
    return [row.name for row in client.get(url, query).context["cl"].result_list]


def post_action(
    client: Client, action: str, *scenarios: Scenario, **extra_fields: Any
) -> HttpResponse:
    selected_keys = [scenario.pk for scenario in scenarios]
    fields = {"action": action, "_selected_action": selected_keys, **extra_fields}
    return client.post(LIST, fields, follow=True)


def stored_tags(name: str) -> list[str]:
    tags: list[str] = Scenario.objects.get(name=name).tags
    return tags


def test_first_tag_is_the_group_and_groups_have_counts(root: Client) -> None:
    create_scenario("a", {}, tags=["shop", "smoke"])
    create_scenario("b", {}, tags=["shop"])
    create_scenario("c", {}, tags=["Search", "shop"])
    create_scenario("d", {})
    expected = [("All", 4), ("Search", 1), ("shop", 2), ("No group", 1)]
    assert group_choices(root) == expected
    assert names(root, group="shop") == ["a", "b"]
    assert names(root, group="Search") == ["c"]
    assert names(root, group="") == ["d"]
    assert group_choices(root, group="shop") == expected


def test_list_without_tags_has_no_groups(root: Client) -> None:
    create_scenario("a", {})
    page = root.get(LIST)
    assert page.context["cl"].groups == [] and b'aria-label="Groups"' not in page.content


def test_counts_follow_search_and_other_filters(root: Client) -> None:
    create_scenario("rain", {"produce.text": "wet"}, {"produce.text": "wet"}, tags=["shop"])
    create_scenario("rain too", {}, tags=["other"], enabled=False)
    create_scenario("sun", {}, tags=["shop"])
    assert group_choices(root, q="rain") == [("All", 2), ("other", 1), ("shop", 1)]
    assert group_choices(root, q="wet") == [("All", 1), ("shop", 1)]
    assert group_choices(root, enabled__exact="0", group="shop") == [
        ("All", 1),
        ("other", 1),
        ("shop", 0),
    ]
    assert names(root, q="rain", group="shop") == ["rain"]


def test_choice_keeps_search_filters_and_order(root: Client) -> None:
    create_scenario("rain", {}, tags=["shop"])
    choice = root.get(LIST, {"q": "rain", "o": "1"}).context["cl"].groups[1]
    assert choice["query_string"] == "?group=shop&o=1&q=rain"


def test_group_is_paged_by_itself(root: Client) -> None:
    for number in range(60):
        create_scenario(f"s{number:02}", {}, tags=["even" if number % 2 == 0 else "odd"])
    page = root.get(LIST, {"group": "odd"}).context["cl"]
    assert (page.result_count, len(page.result_list)) == (30, 30)
    assert dict(group_choices(root)) == {"All": 60, "even": 30, "odd": 30}


@pytest.mark.parametrize("group", ["Shop", "sho", "shop, more", 'a "b"', "ü", "50%", "a_b", "\\"])
def test_group_is_filtered_by_its_exact_name(root: Client, group: str) -> None:
    create_scenario("wanted", {}, tags=[group, "last"])
    for number, other in enumerate(("shop", "shops", "a b", "axb", "50x", "Ü", "")):
        create_scenario(f"other {number}", {}, tags=[other] if other else [])
    assert names(root, group=group) == ["wanted"]


def test_list_is_sorted_by_group_without_mixing_cases(root: Client) -> None:
    for number, group in enumerate(["zoo", "Bank", "zoo", "bank", "Bank", "", "bank", "air"]):
        create_scenario(f"s{number}", {}, tags=[group, "x"] if group else [])
    column = root.get(LIST).context["cl"].list_display.index("tag_list")
    result_rows = root.get(LIST, {"o": str(column)}).context["cl"].result_list
    groups = [(row.tags or [""])[0] for row in result_rows]
    assert groups == ["", "air", "Bank", "Bank", "bank", "bank", "zoo", "zoo"]


def test_names_are_sorted_without_regard_to_case(root: Client) -> None:
    for name in ("beta", "Alpha", "Gamma", "alpine"):
        create_scenario(name, {})
        Draft.objects.create(name=name)
    expected = ["Alpha", "alpine", "beta", "Gamma"]
    assert names(root) == names(root, o="1") == expected
    assert names(root, DRAFTS) == names(root, DRAFTS, o="1") == expected


def test_scenarios_are_moved_to_a_new_group(root: Client) -> None:
    scenario_one = create_scenario("one", {}, tags=["old", "smoke"])
    scenario_two = create_scenario("two", {})
    question = post_action(root, "move_to_group", scenario_one, scenario_two)
    assert "Move 2 scenarios" in question.content.decode() and question.context["form"].groups == [
        "old"
    ]
    response = post_action(
        root, "move_to_group", scenario_one, scenario_two, apply="1", group=" new "
    )
    assert "Moved 2 of 2 to “new”." in response.content.decode()
    assert (stored_tags("one"), stored_tags("two")) == (["new", "smoke"], ["new"])
    assert document_of(Scenario.objects.get(name="one")).tags == ["new", "smoke"]
    changes = ('tags from ["old", "smoke"] to ["new", "smoke"]',)
    assert versions_of(scenario_one)[0].changes == changes
    entries = LogEntry.objects.values_list("change_message", flat=True)
    assert list(entries) == ["Moved to the group “new”."] * 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["a", "b"], ["b"]),
        (["b", "a"], ["b", "a"]),
        (["a", "c", "b"], ["b", "c"]),
        (["recording", "c"], ["b", "recording", "c"]),
        (["c", "recording"], ["b", "recording"]),
    ],
)
def test_move_replaces_the_group_and_keeps_other_tags(
    root: Client, before: list[str], after: list[str]
) -> None:
    scenario = create_scenario("one", {}, tags=before)
    post_action(root, "move_to_group", scenario, apply="1", group="b")
    assert stored_tags("one") == after


@pytest.mark.parametrize(
    ("group", "message"),
    [("", "This field is required."), ("a, b", "cannot contain a comma"), ("x" * 201, "200")],
)
def test_invalid_group_name_is_an_error_at_its_field(
    root: Client, group: str, message: str
) -> None:
    scenario = create_scenario("one", {}, tags=["old"])
    page = post_action(root, "move_to_group", scenario, apply="1", group=group)
    assert message in str(page.context["form"].errors["group"])
    assert stored_tags("one") == ["old"]


def test_tags_are_added_and_removed_in_bulk(root: Client) -> None:
    scenario_one = create_scenario("one", {}, tags=["shop", "smoke", "slow"])
    scenario_two = create_scenario("two", {}, tags=["smoke"])
    scenario_three = create_scenario("three", {})
    create_scenario("other", {}, tags=["slow"])
    question = post_action(root, "set_tags", scenario_one, scenario_two, scenario_three)
    choices = question.context["form"].fields["remove"].choices
    assert choices == [("shop", "shop (1)"), ("slow", "slow (1)"), ("smoke", "smoke (2)")]
    post_action(
        root,
        "set_tags",
        scenario_one,
        scenario_two,
        scenario_three,
        apply="1",
        add="night, shop",
        remove=["smoke", "slow"],
    )
    assert stored_tags("one") == ["shop", "night"]
    assert stored_tags("two") == stored_tags("three") == ["night", "shop"]
    assert stored_tags("other") == ["slow"]


def test_tags_without_a_choice_are_an_error(root: Client) -> None:
    scenario = create_scenario("one", {}, tags=["shop"])
    page = post_action(root, "set_tags", scenario, apply="1", add=" , ")
    assert "Type a tag to add" in unescape(page.content.decode())
    assert stored_tags("one") == ["shop"]


def test_unchanged_scenario_gets_no_history_entry(root: Client) -> None:
    scenario = create_scenario("one", {}, tags=["shop"])
    before = versions_of(scenario)
    page = post_action(root, "set_tags", scenario, apply="1", add="shop")
    assert "Changed the tags of 0 of 1." in page.content.decode()
    assert versions_of(scenario) == before


def test_move_applies_to_rows_of_all_pages(root: Client) -> None:
    scenarios = [create_scenario(f"s{number}", {}) for number in range(52)]
    question = post_action(root, "move_to_group", *scenarios[:50], select_across="1")
    assert b'name="select_across" value="1"' in question.content
    form_data = fields(question.content.decode(), "bulk_form") | {"apply": "1", "group": "all"}
    assert form_data["_selected_action"] in {str(scenario.pk) for scenario in scenarios}
    root.post(LIST, form_data)
    assert [row.tags for row in Scenario.objects.all()] == [["all"]] * 52


def test_reader_cannot_move_or_tag_scenarios(reader: Client) -> None:
    scenario = create_scenario("one", {}, tags=["old"])
    for action, changes in (("move_to_group", {"group": "new"}), ("set_tags", {"add": "new"})):
        post_action(reader, action, scenario, apply="1", **changes)
    assert stored_tags("one") == ["old"]
    assert dict(group_choices(reader)) == {"All": 1, "old": 1}
