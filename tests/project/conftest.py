"""Fixtures: the wheel as `pip install` unpacks it, built once, and rows for every page."""

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from chat_app.models import ABComparison, Conversation, ModelProfile
from mockllm_site.roles import READER
from scenarios_app.store.drafts import get_or_create_draft
from scenarios_app.store.history import deletions
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row
from tests.project import processes
from traces_app.models import TraceEvent

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and return the folder into which it is unpacked."""
    target = tmp_path_factory.mktemp("wheel")
    done = processes.run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target, cwd=CHECKOUT
    )
    assert done.returncode == 0, done.stderr
    (file,) = target.glob("mockllm_server-*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(target / "unpacked")
    return target / "unpacked"


@pytest.fixture
def ids(db: None) -> dict[str, Any]:
    """Create a row of each model; return the values for the variables of routes.

    A word after the model marks a row that already has the state which an action would set.
    """
    create_scenario("gone", {}).delete()
    scenario = create_scenario("one", {})
    draft, _ = get_or_create_draft(create_scenario("two", {}))
    conversation, archived = (
        create_conversation("words", preference="a"),
        create_conversation("others", preference="a"),
    )
    Conversation.objects.filter(pk=archived.pk).update(archived=True)
    ABComparison.objects.filter(conversation=archived).update(excluded=True)
    comparison = conversation.comparisons.get()
    profile = ModelProfile.objects.create(name="one", provider_id="openai", model_id="m")
    body = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}'
    headers = {"content-type": "application/json", "authorization": "Bearer any"}
    return {
        "auth/user": User.objects.create_user("any").pk,
        "auth/group": Group.objects.get(name=READER).pk,
        "scenarios_app/scenario": scenario.pk,
        "scenarios_app/scenario step": scenario.steps.get().pk,
        "scenarios_app/scenario disabled": create_scenario("three", {}, enabled=False).pk,
        "scenarios_app/draft": draft.pk,
        "scenarios_app/draft step": draft.steps.get().pk,
        "scenarios_app/servedrequest": create_journal_row(
            request_body=body, request_headers=headers
        ).pk,
        "chat_app/modelprofile": profile.pk,
        "chat_app/conversation": conversation.pk,
        "chat_app/conversation archived": archived.pk,
        "chat_app/message": conversation.messages.earliest("number").pk,
        "chat_app/contextstate": conversation.context_state.pk,
        "chat_app/abcomparison": comparison.pk,
        "chat_app/abcomparison excluded": archived.comparisons.get().pk,
        "traces_app/trace": comparison.trace_a_id,
        "traces_app/traceevent": TraceEvent.objects.get_or_create(
            trace_id=comparison.trace_a_id, seq=99, type="status"
        )[0].pk,
        "revision": deletions().get().pk,
        "trace_id": comparison.trace_a_id,
        "app_label": "scenarios_app",
        "url": "nothing",
        "name": "admin",
    }
