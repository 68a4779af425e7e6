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
    """The CPU seconds of a write, and the goal."""

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


def measure_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def database() -> Iterator[Any]:
    """Create a database in a file; yield a Django client that is logged in as superuser."""
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


def measure_puts(client: Any, steps: int, goal: float) -> Iterator[Figure]:
    """Measure a scenario that is put, replaced, and loaded from a file."""
    name = f"of {steps}"
    url = f"/control/scenarios/{name}"
    new, other = document(name, steps), document(name, steps)

    def put(body: dict[str, Any]) -> None:
        _assert_saved(client.put(url, json.dumps(body), "application/json"))

    for number, one in enumerate(other["steps"]):
        one["produce"] = {"text": f"another answer {number}"}
    for verb, body in (("put new", new), ("put in place of another", other)):
        cpu_seconds = measure_seconds(partial(put, body))
        yield Figure(f"{steps:,} steps: {verb}", cpu_seconds, goal)
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "one.json").write_text(json.dumps(new))
        load = partial(call_command, "load_scenarios", directory, stdout=io.StringIO())
        yield Figure(f"{steps:,} steps: load_scenarios", measure_seconds(load), goal)


def measure_edits(client: Any, steps: int, save_goal: float, goal: float) -> Iterator[Figure]:
    """Measure saves of all steps and of one in the editor, and of one step without the editor."""
    from scenarios_app.catalog import catalog
    from scenarios_app.models import Scenario

    scenario = Scenario.objects.get(name=f"of {steps}")
    url = f"{ADMIN}{scenario.pk}/change/"
    page = _fields(client.get(url).content.decode())
    rows = {f"steps-{n}-order": str(steps - n) for n in range(steps)}
    cpu_seconds = measure_seconds(lambda: _post(client, url, page | rows))
    yield Figure(f"{steps:,} steps: all moved in the editor", cpu_seconds, save_goal)
    page = _fields(client.get(url).content.decode())
    row = client.get(f"{ADMIN}{scenario.pk}/steps/{page['steps-3-id']}/", {"prefix": "steps-3"})
    page |= _fields(f'<form id="scenario_form">{row.content.decode()}</form>')
    cpu_seconds = measure_seconds(
        lambda: _post(client, url, page | {"steps-3-produce.text": "edited"})
    )
    yield Figure(f"{steps:,} steps: one edited in the editor", cpu_seconds, save_goal)
    catalog.index()
    row = scenario.steps.all()[steps // 2]

    def edit() -> None:
        row.document["produce"] = {"text": f"edited {time.time_ns()}"}
        row.save()
        catalog.index()

    cpu_seconds = min(measure_seconds(edit) for _ in range(5))
    yield Figure(f"{steps:,} steps: one saved, to the next index", cpu_seconds, goal)


def measure_imports(client: Any) -> Iterator[Figure]:
    """Measure the import of many scenarios in the admin, and a small save afterwards."""
    text = json.dumps({"scenarios": [document(f"s{n}", STEPS) for n in range(SCENARIOS)]})
    form = {"text": text, "existing": "replace", "load": "1"}
    cpu_seconds = measure_seconds(lambda: _post(client, f"{ADMIN}import/", form))
    yield Figure(f"import of {SCENARIOS} scenarios of {STEPS} steps", cpu_seconds, 3)
    from scenarios_app.models import Scenario

    url = f"{ADMIN}{Scenario.objects.get(name='s7').pk}/change/"
    page = _fields(client.get(url).content.decode())
    cpu_seconds = measure_seconds(
        lambda: _post(client, url, page | {"steps-1-produce.text": "edited"})
    )
    yield Figure(f"a small save beside {SCENARIOS * STEPS:,} steps", cpu_seconds, 1)


def _fields(html: str) -> dict[str, str]:
    from tests.admin.pages import fields

    return fields(html)


def _assert_saved(response: Any) -> None:
    if response.status_code not in (200, 201):
        raise ValueError(response.content[:500])


def _post(client: Any, url: str, form: dict[str, str]) -> None:
    """Submit a form; raises ValueError with the page's text unless it redirects."""
    response = client.post(url, form)
    if response.status_code != 302:
        page_text = re.sub(r"<[^>]*>|\s+", " ", response.content.decode())
        raise ValueError(page_text[:3000])


def main() -> None:
    with database() as client:
        print(f"{'seconds of CPU':<52}{'':>9}{'goal':>9}")
        for figure in measure_imports(client):
            print(figure, flush=True)
        for steps, goal, edit in ((SMALL, 1, 0.05), (LARGE, 10, 0.3)):
            for figure in measure_puts(client, steps, goal):
                print(figure, flush=True)
            for figure in measure_edits(client, steps, goal, edit):
                print(figure, flush=True)


if __name__ == "__main__":
    main()
