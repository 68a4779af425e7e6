"""Mutated recordings of every format are refused clearly or make a scenario."""

import json
import time
from contextlib import suppress

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.files import read_upload
from tests.examples import often
from tests.recording.files import read
from tests.recording.import_fuzz import SAMPLES, findings


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_file_is_refused_or_makes_a_scenario(name: str) -> None:
    found = list(findings(name, often(1_000), clock=lambda: 0.0))
    assert found == []


@pytest.mark.parametrize("name", SAMPLES)
def test_unchanged_sample_makes_a_scenario(name: str) -> None:
    suffix, value = SAMPLES[name]
    data = value if suffix != ".jsonl" else b"\n".join(json.dumps(one).encode() for one in value)
    assert read(data, f"sample{suffix}").steps > 0


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
