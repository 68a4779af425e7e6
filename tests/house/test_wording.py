"""Counts of unclear wording and lines per room stay below their ceilings, which only fall."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.house.wording import in_docs, in_product, in_tests, lines_by_room
from tests.support.project_files import source_files

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mockllm_site/", "scenarios_app/", "chat_app/", "traces_app/")
CEILINGS: Mapping[str, int] = {
    "participle names": 6,
    "participle names in tests": 0,
    "docstring openers": 0,
    "mannered docstrings": 0,
    "limit names": 0,
    "shared class names": 1,
    "tests without a subject": 0,
    "mannered phrases in docs": 0,
    "long sentences in docs": 21,
}
# Lines of Python by folder of the table in docs/architecture.md, without migrations.
ROOM_LINES: Mapping[str, int] = {
    "chat_app": 2_565,
    "chat_app/api": 1_216,
    "chat_app/clients": 1_473,
    "chat_app/prompt": 671,
    "chat_app/runs": 1_786,
    "chat_app/stream": 437,
    "chat_app/tools": 1_226,
    "chat_app/values": 283,
    "mockllm_site": 2_743,
    "mockllm_site/kit": 3_473,
    "mockllm_site/pages": 1_106,
    "mockllm_site/public/mockllm": 74,
    "mockllm_site/serve": 2_527,
    "scenarios_app": 1_032,
    "scenarios_app/admin": 6_985,
    "scenarios_app/builder": 662,
    "scenarios_app/catalog": 764,
    "scenarios_app/cluster": 925,
    "scenarios_app/control": 3_777,
    "scenarios_app/engine": 13_996,
    "scenarios_app/journal": 1_077,
    "scenarios_app/models": 1_076,
    "scenarios_app/play": 966,
    "scenarios_app/recording": 2_824,
    "scenarios_app/serving": 6_844,
    "scenarios_app/serving/recorder": 960,
    "scenarios_app/simulate": 266,
    "scenarios_app/store": 1_646,
    "scenarios_app/testing": 4_081,
    "scenarios_app/proof": 1_887,
    "scenarios_app/verdict": 2_866,
    "scenarios_app/wire": 13_013,
    "traces_app": 2_440,
}


def modules() -> list[str]:
    names = source_files(ROOT)
    return [name for name in names if name.endswith(".py") and "/migrations/" not in name]


def product_modules() -> list[str]:
    return [name for name in modules() if name.startswith(PACKAGES) or name == "manage.py"]


def test_unclear_wording_does_not_increase() -> None:
    tests = [name for name in modules() if name.startswith("tests/")]
    pages = [n for n in source_files(ROOT) if n.endswith(".md") and n != "CHANGELOG.md"]
    others = [name for name in modules() if not name.startswith("tests/")]
    places = {**in_product(ROOT, others), **in_tests(ROOT, tests), **in_docs(ROOT, pages)}
    above = {
        measure: places[measure]
        for measure, ceiling in CEILINGS.items()
        if len(places.get(measure, ())) > ceiling
    }
    assert above == {}


def test_each_room_stays_below_its_lines() -> None:
    lines = lines_by_room(ROOT, product_modules(), ROOM_LINES)
    above = {room: count for room, count in lines.items() if count > ROOM_LINES[room]}
    assert above == {}, "simplify these rooms, or raise their ceilings"


def test_every_room_of_the_architecture_has_a_ceiling() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("| package |")[2].partition("\n\n")[0]
    rooms = set()
    for row in table.splitlines()[2:]:
        parent = ""
        for name in re.findall(r"`([\w/]+)`", row.split("|")[1]):
            package = name.startswith(PACKAGES)
            room = name if package else parent + name
            parent = room[: room.rstrip("/").rfind("/") + 1] if package else parent
            rooms.add(room.rstrip("/"))
    missing = {room for room in rooms if (ROOT / room).is_dir()} - set(ROOM_LINES)
    assert missing == set()


def test_changelog_entries_have_at_most_120_characters() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("- ") and len(line) > 120] == []


def test_counter_finds_each_kind_of_wording(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""What a module is."""\nMOST_ROWS = 1\n\n\ndef asked(row):\n'
        '    """Return rows of its own."""\n    found = row\n'
    )
    (tmp_path / "b.py").write_text("class Kind: ...\n")
    (tmp_path / "test_a.py").write_text("def test_what_is_there(): ...\ndef test_row_is(): ...\n")
    (tmp_path / "c.md").write_text(f"It is said.\n\n{'word ' * 36}.\n\n```\nnobody\n```\n")
    product = in_product(tmp_path, ["a.py", "b.py"])
    assert product["participle names"] == ["a.py:5 asked", "a.py:7 found"]
    assert product["limit names"] == ["a.py:2 MOST_ROWS"]
    assert product["docstring openers"] == ["a.py:1"]
    assert product["mannered docstrings"] == ["a.py:5"]
    assert product["shared class names"] == []
    tests = in_tests(tmp_path, ["test_a.py", "a.py"])
    assert tests["tests without a subject"] == ["test_a.py:1 test_what_is_there"]
    assert tests["participle names in tests"] == ["a.py:5 asked", "a.py:7 found"]
    docs = in_docs(tmp_path, ["c.md"])
    assert docs["mannered phrases in docs"] == ["c.md: is said"]
    assert len(docs["long sentences in docs"]) == 1
