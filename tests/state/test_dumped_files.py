"""Files of `dumpdata`: whole or not written."""

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat_app.conversations import append_message, create
from chat_app.models import ABComparison, ModelProfile, Sender
from scenarios_app.models import CatalogVersion, Draft, PastAnswers, Revision, Scenario, Step
from scenarios_app.store.history import versions_of

pytestmark = pytest.mark.django_db


def dumped(path: Path, *labels: str) -> list[str]:
    """Return the models of the rows in a dump."""
    call_command("dumpdata", *labels, output=path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return [row["model"] for row in json.load(file)]


@pytest.mark.parametrize("before", [None, "kept"])
@pytest.mark.parametrize("name", ["dump.json", "dump.json.gz"])
def test_failed_dump_leaves_no_file_and_keeps_the_one_before(
    tmp_path: Path, before: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / name
    if before is not None:
        file.write_text(before)
    profile = ModelProfile.objects.create(name="gone", provider_id="openai", model_id="m")
    conversation = create("c")
    question = append_message(conversation, Sender.USER, content="x")
    ABComparison.objects.create(
        conversation=conversation, user_message=question, seed=1, profile_a=profile
    )
    monkeypatch.setattr(ModelProfile, "natural_key", lambda profile: profile.missing)
    with pytest.raises(CommandError, match="Unable to serialize"):
        call_command("dumpdata", "chat_app", output=file)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == (
        [] if before is None else [(name, before)]
    )


@pytest.mark.parametrize("name", ["dump.json", "dump.json.gz"])
def test_dump_replaces_the_file_behind_a_link_and_keeps_its_mode(tmp_path: Path, name: str) -> None:
    file, link = tmp_path / name, tmp_path / "in" / name
    file.write_text("old")
    file.chmod(0o640)
    link.parent.mkdir()
    link.symlink_to(file)
    create("a")
    assert dumped(link, "chat_app.conversation") == ["chat_app.conversation"]
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o640


def test_dump_is_written_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    create("a")
    call_command("dumpdata", "chat_app.conversation", output=str(pipe))
    (row,) = json.loads(os.read(reader, 65_536))
    os.close(reader)
    assert row["fields"]["client_id"] == "a" and pipe.is_fifo()


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no/dump\.json cannot be written: No such file"):
        call_command("dumpdata", "chat_app", output=str(tmp_path / "no" / "dump.json"))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["scenarios_app"], []),
        (["scenarios_app.pastanswers"], ["scenarios_app.pastanswers"]),
        (["scenarios_app.CatalogVersion"], ["scenarios_app.catalogversion"]),
    ],
)
def test_rows_of_this_server_are_dumped_only_by_name(
    tmp_path: Path, labels: Sequence[str], expected: Sequence[str]
) -> None:
    PastAnswers.objects.create(scenario="a", step_key="b", last=timezone.now())
    CatalogVersion.objects.get_or_create(pk=1, defaults={"number": 1})
    assert dumped(tmp_path / "dump.json", *labels) == expected


def test_log_of_the_admin_is_refused() -> None:
    with pytest.raises(CommandError, match="is a history"):
        call_command("dumpdata", "admin.logentry")


def test_loaded_scenario_keeps_the_histories_of_both_databases(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    scenario = Scenario.objects.create(name="weather", priority=1)
    call_command("dumpdata", "scenarios_app", output=dump)
    scenario.delete()
    Revision.objects.all().delete()
    scenario = Scenario.objects.create(name="weather", priority=2)
    draft = Draft.objects.create(name="soon", published=scenario)
    for _ in range(2):
        call_command("loaddata", str(dump), verbosity=0)
    priorities = [r.document.get("priority") for r in Revision.objects.order_by("at")]
    assert priorities == [1, 2, None, 1]
    assert len(versions_of(Scenario.objects.get())) == 3
    assert Draft.objects.get(published=scenario) == draft


def test_loaded_step_with_the_key_of_another_gets_a_new_key(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    scenario = Scenario.objects.create(name="weather")
    document = {"produce": {"text": "Rain."}}
    first, second = (scenario.steps.create(order=order, document=document) for order in (1, 2))
    call_command("dumpdata", "scenarios_app.scenario", "scenarios_app.step", output=dump)
    Step.objects.filter(pk=first.pk).update(order=3)
    call_command("loaddata", str(dump), verbosity=0)
    keys = scenario.steps.values_list("order", "key")
    assert dict(keys)[2] == second.key and dict(keys)[3] == first.key
    assert len({key for _, key in keys}) == 3
