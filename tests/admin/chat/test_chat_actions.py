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
from tests.admin.chat.chat_records import post, records
from tests.admin.chat.talks import LISTS, talk
from traces_app.models import Trace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "actions", "column"),
    [
        (Conversation, ("archive", "unarchive"), "archived"),
        (ABComparison, ("exclude_from_ranking", "include_in_ranking"), "excluded"),
    ],
)
def test_an_action_sets_a_column_and_says_so(
    editor: Client, model: type[Model], actions: tuple[str, str], column: str
) -> None:
    talk()
    talk("other")
    before = records()
    url = LISTS[model._meta.label_lower]
    first, second = model._default_manager.order_by("pk")
    for action, chosen, wanted in (
        (actions[0], [first], {first.pk: True, second.pk: False}),
        (actions[0], [first, second], {first.pk: True, second.pk: True}),
        (actions[1], [second], {first.pk: True, second.pk: False}),
    ):
        posted = {"action": action, "_selected_action": [row.pk for row in chosen]}
        assert editor.post(url, posted).status_code == 302
        assert dict(model._default_manager.values_list("pk", column)) == wanted
    assert records() == before
    logged = LogEntry.objects.filter(object_id=first.pk)
    assert logged.count() == 1, "it was so already the second time"
    assert LogEntry.objects.count() == 3
    page = editor.get(url, {f"{column}__exact": "1"})
    assert [row.pk for row in page.context["cl"].result_list] == [first.pk]


def test_action_counts_its_rows_although_the_filter_of_the_list_excludes_them_then(
    editor: Client,
) -> None:
    talk()
    rows = [row.pk for row in Conversation.objects.all()]
    url = f"{LISTS['chat_app.conversation']}?archived__exact=0"
    page = editor.post(url, {"action": "archive", "_selected_action": rows}, follow=True)
    assert [str(message) for message in page.context["messages"]] == ["Archived: 1 of 1."]


def test_an_excluded_comparison_is_out_of_the_ranking_at_once_and_back(
    editor: Client, client: Client
) -> None:
    talk(preference="a")
    two = talk("other", preference="b").comparisons.get()
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
    posted = {"action": "include_in_ranking", "_selected_action": [two.pk]}
    editor.post(LISTS["chat_app.abcomparison"], posted)
    assert scores() == everything
    assert client.get("/api/ab/leaderboard").json() == ranking


@pytest.mark.parametrize("name", ["chat_app.conversation", "traces_app.trace"])
def test_tags_are_filtered_and_searched_by(root: Client, name: str) -> None:
    first, second, third = (create(client) for client in "xyz")
    rows: list[Any] = [first, second, third]
    if name == "traces_app.trace":
        rows = [Trace.objects.create(conversation=row, status="failed") for row in rows]
    for row, tags in zip(rows, (["smoke", "Köln"], ["smoke test"], []), strict=True):
        row.tags = tags
        row.save()

    def ids_found(**query: str) -> list[int]:
        listed = root.get(LISTS[name], query).context["cl"].queryset
        return sorted(rows.index(row) for row in listed)

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
