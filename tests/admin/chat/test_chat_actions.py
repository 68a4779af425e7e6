"""Admin actions on many chat records, and search by tags."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client

from chat_app.comparisons import leaderboard
from chat_app.conversations import create
from chat_app.models import (
    ABComparison,
    Conversation,
)
from tests.admin.chat.chat_records import post, read_records
from tests.admin.chat.talks import LISTS, create_conversation
from traces_app.models import Trace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "actions", "column"),
    [
        (Conversation, ("archive", "unarchive"), "archived"),
        (ABComparison, ("exclude_from_ranking", "include_in_ranking"), "excluded"),
    ],
)
def test_action_sets_a_column_and_shows_a_message(
    editor: Client, model: type[Model], actions: tuple[str, str], column: str
) -> None:
    create_conversation()
    create_conversation("other")
    before = read_records()
    url = LISTS[model._meta.label_lower]
    first, second = model._default_manager.order_by("pk")
    for action, selected_rows, expected_values in (
        (actions[0], [first], {first.pk: True, second.pk: False}),
        (actions[0], [first, second], {first.pk: True, second.pk: True}),
        (actions[1], [second], {first.pk: True, second.pk: False}),
    ):
        form_data = {"action": action, "_selected_action": [row.pk for row in selected_rows]}
        assert editor.post(url, form_data).status_code == 302
        assert dict(model._default_manager.values_list("pk", column)) == expected_values
    assert read_records() == before
    logged = LogEntry.objects.filter(object_id=first.pk)
    assert logged.count() == 1, "it was so already the second time"
    assert LogEntry.objects.count() == 3
    page = editor.get(url, {f"{column}__exact": "1"})
    assert [row.pk for row in page.context["cl"].result_list] == [first.pk]


def test_excluded_comparison_leaves_the_ranking_until_included(
    editor: Client, client: Client
) -> None:
    create_conversation(preference="a")
    two = create_conversation("other", preference="b").comparisons.get()
    ABComparison.objects.filter(pk=two.pk).update(profile_b_name="winner")

    def scores() -> dict[str, tuple[int, float]]:
        return {rank.profile: (rank.wins, rank.score) for rank in leaderboard()}

    everything = scores()
    ranking = client.get("/api/ab/leaderboard").json()
    assert "winner" in everything
    post(editor, two, excluded="on")
    without = scores()
    assert set(everything) - set(without) == {"winner"}
    assert all(without[name] != everything[name] for name in without)
    for path in ("/api/ab/leaderboard", "/chat/leaderboard/"):
        assert "winner" not in client.get(path).content.decode()
    form_data = {"action": "include_in_ranking", "_selected_action": [two.pk]}
    editor.post(LISTS["chat_app.abcomparison"], form_data)
    assert scores() == everything
    assert client.get("/api/ab/leaderboard").json() == ranking


@pytest.mark.parametrize("name", ["chat_app.conversation", "traces_app.trace"])
def test_rows_are_filtered_and_searched_by_tag(root: Client, name: str) -> None:
    first, second, third = (create(client) for client in "xyz")
    rows: list[Any] = [first, second, third]
    if name == "traces_app.trace":
        rows = [Trace.objects.create(conversation=row, status="failed") for row in rows]
    for row, tags in zip(rows, (["smoke", "Köln"], ["smoke test"], []), strict=True):
        row.tags = tags
        row.save()

    def ids_found(**query: str) -> list[int]:
        result_rows = root.get(LISTS[name], query).context["cl"].queryset
        return sorted(rows.index(row) for row in result_rows)

    assert ids_found(tag="smoke") == [0]
    assert ids_found(tag="nobody's") == []
    assert ids_found(q="smoke") == [0, 1]
    assert ids_found(q="SMOKE") == [0, 1]
    assert ids_found(q="Köln") == [0]
    # The characters around names in a stored list match nothing.
    for mark in ("[", "]", ",", "[]"):
        assert ids_found(q=mark) == [], mark
    html = root.get(LISTS[name]).content.decode()
    assert 'class="sc-tag">Köln</span>' in html and "?tag=smoke+test" in html
