"""Mutated recordings of every format are refused clearly or make a scenario."""

import json
import time
from contextlib import suppress

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.files import read_upload
from scenarios_app.store.documents import load
from tests.recording.import_fuzz import findings, import_file
from tests.recording.import_samples import SAMPLES
from tests.support.hypothesis_profiles import example_count


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_file_is_refused_or_makes_a_scenario(name: str) -> None:
    file_findings = list(findings(name, example_count(1_000), clock=lambda: 0.0))
    assert file_findings == []


@pytest.mark.parametrize("name", SAMPLES)
def test_unchanged_sample_makes_a_scenario(name: str) -> None:
    suffix, value = SAMPLES[name]
    lines = value if suffix == ".jsonl" else [value]
    (document,) = import_file("\n".join(map(json.dumps, lines)).encode(), f"sample{suffix}")
    assert document.steps


@pytest.mark.parametrize(
    "pattern", ["(?a" * 40_000, "\\(" * 60_000, "[^/]+" * 20_000 + "(?", "(?" * 60_000 + ")"]
)
def test_hostile_url_pattern_is_read_in_linear_time(pattern: str) -> None:
    mapping = {"request": {"urlPattern": pattern}, "response": {"status": 200}}
    started = time.process_time()
    with suppress(DocumentError):
        read_upload(json.dumps(mapping).encode(), source="mapping.json")
    # The first of these took 28 s with Python's `re`.
    assert time.process_time() - started < 5


@pytest.mark.django_db
@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_file_that_is_accepted_can_be_stored(name: str) -> None:
    file_findings = list(findings(name, example_count(500), seed=1, clock=lambda: 0.0, keep=load))
    assert file_findings == []
