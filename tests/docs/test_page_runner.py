"""Broken pages fail: one fault for each kind of block."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import Block, read_blocks
from tests.docs.page_runner import PageRunner
from tests.docs.places import INSTALLED, shell_path, warm_commands


@pytest.fixture
def page_runner(tmp_path: Path) -> Iterator[PageRunner]:
    bin_folder = warm_commands(tmp_path / "bin")
    path = shell_path(bin_folder, INSTALLED)
    with PageRunner(tmp_path, path=path, python=str(bin_folder / "python")) as page_runner:
        yield page_runner


def fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (fence("", "make run"), "no way to run a block of no language"),
        (fence("ruby", "puts 1"), "no way to run a block of ruby"),
        (fence("sh", "true\nfalse\ntrue"), "exit code 1"),
        (fence("sh", "mockllm check_scenarios scenarios/"), "scenarios"),
        (fence("sh", "make nothing-of-this-name"), "exit code 2"),
        (fence("python", "assert 1 == 2"), "AssertionError"),
        (fence("python", "client.ask()"), "NameError"),
        (fence("sh", "echo one") + fence("text", "two"), "the page shows\ntwo\n"),
        (fence("sh", "echo '[1]'") + fence("json", "[2]"), r"the page shows\n\[2\]\n"),
        (fence("python", "print(1)") + fence("text", "2"), "the page shows\n2\n"),
        (fence("text", "a fragment"), "the output of nothing"),
        (fence("json", '{"steps": []}'), "name: missing"),
        (fence("sh", "mockllm serve --port 8000 --nonsense"), "did not start"),
    ],
)
def test_failing_block_is_reported(page_runner: PageRunner, page: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        follow(page_runner, page)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (fence("json", '{"name": "a", "steps": []}'), "names no file"),
        (fence("python", "print(1)"), "names no file"),
        (fence("yaml", "name: a"), "names no file"),
        (fence("js", "1"), "names no file"),
        (fence("sh", "curl http://127.0.0.1:8000/"), "the page has started no server"),
        (fence("transcript", "you    hello\nmodel  Hi!"), "the page has started no server"),
    ],
)
def test_page_with_a_missing_step_is_reported(
    page_runner: PageRunner, page: str, problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem):
        follow(page_runner, page, strict=True)


WRONG_TRANSCRIPTS = (
    ("you    hello\nmodel  Bye!", "the page says .*Bye.*, the server .*Hi!"),
    ("you    hello\nmodel  Hi!\nmodel  Hi!", "the page says"),
    ("you    hello\nstream Hi|!", "the page says"),
    ("you    goodbye\nmodel  Hi!", "no_scenario_matched"),
    ("you    hello\nerror  500 …", "the page says"),
    ("you    hello\nmodel  Hi!\nhead   x-mockllm-step: 2", "x-mockllm-step"),
    ('you    hello\nmodel  Hi!\nbody   {"model": "gpt-5"}', "is not in"),
    ("you    hello\nmodle  Hi!", "unknown line"),
)


def test_wrong_transcript_is_reported(page_runner: PageRunner) -> None:
    document = """{"name": "greeting", "steps": [{"consume": false, "produce": {"text": "Hi!"},
        "match": {"messages": [{"contains": "hello"}]}}]}"""
    start = "MOCKLLM_ENV=test mockllm serve --no-catch-all"
    follow(page_runner, fence("sh", start) + fence("json", document))
    follow(page_runner, fence("transcript", "you    hello\nmodel  Hi!"))
    for transcript, problem in WRONG_TRANSCRIPTS:
        with pytest.raises(AssertionError, match=problem):
            follow(page_runner, fence("transcript", transcript))


def follow(page_runner: PageRunner, page: str, *, strict: bool = False) -> None:
    page_runner.strict = strict
    for block in read_blocks(page, page="a page"):
        page_runner.follow(block)


def test_block_has_its_place_and_file() -> None:
    page = "# Title\n\nSave it as `folder/one.json`:\n\n" + fence("json", "{}")
    (block,) = read_blocks(page, page="docs/page.md")
    assert block == Block("docs/page.md", 5, "json", "{}\n", "Save it as `folder/one.json`:")
    assert (block.place, block.file) == ("docs/page.md:5", "folder/one.json")
