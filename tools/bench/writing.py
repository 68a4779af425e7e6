"""Measures the CPU seconds of writing scenarios, with a goal for each kind of write.

`python -m tools.bench.writing`, on a new database file. Each measurement includes the rebuilt index
that answers the next request.
"""

import io
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

SMALL, LARGE = 1_000, 10_000
# Scenarios of an import, and the steps of each.
SCENARIOS, STEPS = 300, 4
TOKEN = "bench"
ADMIN = "/admin/scenarios_app/scenario/"


@dataclass(frozen=True)
class Figure:
    """Seconds of CPU that something took, and those that it may take."""

    name: str
    seconds: float
    goal: float

    def __str__(self) -> str:
        over = "" if self.seconds <= self.goal else "   over"
        return f"{self.name:<52}{self.seconds:>9.3f}{self.goal:>9.2f}{over}"


def document(name: str, steps: int) -> dict[str, Any]:
    return {"name": name, "steps": [step(f"{name} {n}") for n in range(steps)]}


def step(text: str) -> dict[str, Any]:
    message = {"role": "user", "contains": f"question {text};"}
    return {"name": text, "match": {"messages": [message]}, "produce": {"text": f"answer {text}"}}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def database() -> Iterator[Any]:
    """A new database in a file, and a client whose user may do everything."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ["DATABASE_URL"] = f"sqlite:///{Path(directory, 'bench.sqlite3')}"
        os.environ["MOCKLLM_CONTROL_TOKEN"] = TOKEN
        os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings"
        django.setup()
        call_command("migrate", verbosity=0)
        from django.contrib.auth.models import User
        from django.db import connection
        from django.test import Client

        client = Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {TOKEN}"})
        client.force_login(User.objects.create_superuser("bench"))
        yield client
        connection.close()


def puts(client: Any, steps: int, goal: float) -> Iterator[Figure]:
    """A scenario put, put again with other steps, and loaded from a file."""
    name = f"of {steps}"
    url = f"/control/scenarios/{name}"
    new, other = document(name, steps), document(name, steps)

    def put(body: dict[str, Any]) -> None:
        _ok(client.put(url, json.dumps(body), "application/json"))

    for number, one in enumerate(other["steps"]):
        one["produce"] = {"text": f"another answer {number}"}
    for verb, body in (("put new", new), ("put in place of another", other)):
        spent = seconds(partial(put, body))
        yield Figure(f"{steps:,} steps: {verb}", spent, goal)
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "one.json").write_text(json.dumps(new))
        load = partial(call_command, "load_scenarios", directory, stdout=io.StringIO())
        yield Figure(f"{steps:,} steps: load_scenarios", seconds(load), goal)


def edits(client: Any, steps: int, save_goal: float, goal: float) -> Iterator[Figure]:
    """The editor's save of all steps, of one, and one step's save alone."""
    from scenarios_app.catalog import catalog
    from scenarios_app.models import Scenario

    scenario = Scenario.objects.get(name=f"of {steps}")
    url = f"{ADMIN}{scenario.pk}/change/"
    page = _fields(client.get(url).content.decode())
    rows = {f"steps-{n}-order": str(steps - n) for n in range(steps)}
    spent = seconds(lambda: _moved(client.post(url, page | rows)))
    yield Figure(f"{steps:,} steps: all moved in the editor", spent, save_goal)
    page = _fields(client.get(url).content.decode())
    row = client.get(f"{ADMIN}{scenario.pk}/steps/{page['steps-3-id']}/", {"prefix": "steps-3"})
    page |= _fields(f'<form id="scenario_form">{row.content.decode()}</form>')
    spent = seconds(lambda: _moved(client.post(url, page | {"steps-3-answer_text": "edited"})))
    yield Figure(f"{steps:,} steps: one edited in the editor", spent, save_goal)
    catalog.index()
    row = scenario.steps.all()[steps // 2]

    def edit() -> None:
        row.answer_text = f"edited {time.time_ns()}"
        row.save()
        catalog.index()

    spent = min(seconds(edit) for _ in range(5))
    yield Figure(f"{steps:,} steps: one saved, to the next index", spent, goal)


def imports(client: Any) -> Iterator[Figure]:
    """A file of many scenarios through the admin's page, and a small save beside them."""
    text = json.dumps({"scenarios": [document(f"s{n}", STEPS) for n in range(SCENARIOS)]})
    form = {"text": text, "existing": "replace", "load": "1"}
    spent = seconds(lambda: _moved(client.post(f"{ADMIN}import/", form)))
    yield Figure(f"import of {SCENARIOS} scenarios of {STEPS} steps", spent, 3)
    from scenarios_app.models import Scenario

    url = f"{ADMIN}{Scenario.objects.get(name='s7').pk}/change/"
    page = _fields(client.get(url).content.decode())
    spent = seconds(lambda: _moved(client.post(url, page | {"steps-1-answer_text": "edited"})))
    yield Figure(f"a small save beside {SCENARIOS * STEPS:,} steps", spent, 1)


def _fields(html: str) -> dict[str, str]:
    from tests.admin.pages import fields

    return fields(html)


def _ok(response: Any) -> None:
    if response.status_code not in (200, 201):
        raise ValueError(response.content[:500])


def _moved(response: Any) -> None:
    if response.status_code != 302:
        wrong = re.sub(r"<[^>]*>|\s+", " ", response.content.decode())
        raise ValueError(wrong[:3000])


def main() -> None:
    with database() as client:
        print(f"{'seconds of CPU':<52}{'':>9}{'goal':>9}")
        for figure in imports(client):
            print(figure, flush=True)
        for steps, goal, edit in ((SMALL, 1, 0.05), (LARGE, 10, 0.3)):
            for figure in puts(client, steps, goal):
                print(figure, flush=True)
            for figure in edits(client, steps, goal, edit):
                print(figure, flush=True)


if __name__ == "__main__":
    main()
