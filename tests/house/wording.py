"""Finds names, docstrings and sentences with unclear wording."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TypeAlias

Node: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module

MAX_SENTENCE_WORDS = 35
SHARED_BY = 3
# Django looks for these names.
FRAMEWORK_CLASSES = {"Command", "Meta"}
PARTICIPLES = {
    *("asked", "found", "given", "handed", "heard", "kept", "known"),
    *("made", "meant", "said", "shown", "taken", "told"),
}
LIMIT_PREFIXES = ("MOST_", "LEAST_", "LONGEST_", "LARGEST_", "FEWEST_")
QUESTION_OPENERS = (
    *("What", "Whatever", "Who", "Whoever", "Whose", "That which"),
    *("So many", "Nobody", "Somebody"),
)
TEST_OPENERS = (
    *("what", "who", "whoever", "whose", "nobody", "somebody", "so", "such"),
    *("where", "which", "neither", "nor", "no_other", "that"),
)
MANNERED = (
    *(f"what is {word}" for word in ("said", "told", "known", "kept", "asked", "given", "made")),
    *("so many", "nobody", "somebody", "as ever", "of its own", "whoever", "whichever"),
    *("to and fro", "at once", "by the dozen", "by the hundred", "is told", "are told"),
    *("is said", "are said", "in its place", "has its turn", "goes the way"),
)
_MANNERED = re.compile(rf"(?i)\b(?:{'|'.join(MANNERED)})\b")
_OPENER = re.compile(rf"(?:{'|'.join(QUESTION_OPENERS)})\b")
_TEST = re.compile(rf"test_(?:{'|'.join(TEST_OPENERS)})(?:_|$)")
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_TABLE_OR_HEADING = re.compile(r"^\s*[|#].*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def in_product(root: Path, modules: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the places of each measure in product code, such as `a/b.py:12 found`."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        tree = ast.parse((root / module).read_text(encoding="utf-8"))
        for name, line in _defined_names(tree):
            if name.strip("_").lower() in PARTICIPLES:
                places["participle names"].append(f"{module}:{line} {name}")
            if name.lstrip("_").startswith(LIMIT_PREFIXES):
                places["limit names"].append(f"{module}:{line} {name}")
        for node, text in _docstrings(tree):
            place = f"{module}:{getattr(node, 'lineno', 1)}"
            if _OPENER.match(text):
                places["docstring openers"].append(place)
            if _MANNERED.search(text):
                places["mannered docstrings"].append(place)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                owners[node.name].add(module)
    places["shared class names"] = [
        f"{name}: {', '.join(sorted(modules))}"
        for name, modules in sorted(owners.items())
        if len(modules) >= SHARED_BY and name not in FRAMEWORK_CLASSES
    ]
    return places


def in_tests(root: Path, modules: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the tests whose names have no subject, and the participles among all names."""
    subjectless, participles = [], []
    for module in modules:
        tree = ast.parse((root / module).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _TEST.match(node.name):
                subjectless.append(f"{module}:{node.lineno} {node.name}")
        for name, line in _defined_names(tree):
            if name.strip("_").lower() in PARTICIPLES:
                participles.append(f"{module}:{line} {name}")
    return {"tests without a subject": subjectless, "participle names in tests": participles}


def in_docs(root: Path, pages: Iterable[str]) -> Mapping[str, list[str]]:
    """Return mannered phrases and long sentences of Markdown pages, code blocks apart."""
    phrases, sentences = [], []
    for page in pages:
        prose = _CODE_BLOCK.sub("", (root / page).read_text(encoding="utf-8"))
        phrases += [f"{page}: {match[0]}" for match in _MANNERED.finditer(prose)]
        for sentence in _SENTENCE_END.split(_TABLE_OR_HEADING.sub("", prose)):
            words = sentence.split()
            if len(words) > MAX_SENTENCE_WORDS:
                sentences.append(f"{page}: {' '.join(words[:8])} …")
    return {"mannered phrases in docs": phrases, "long sentences in docs": sentences}


def lines_by_room(root: Path, modules: Iterable[str], rooms: Iterable[str]) -> Mapping[str, int]:
    """Return the lines of each room's modules; a module counts for its longest prefix only."""
    by_length = sorted(rooms, key=len, reverse=True)
    lines = dict.fromkeys(by_length, 0)
    for module in modules:
        path = PurePosixPath(module)
        room = next((room for room in by_length if path.is_relative_to(room)), None)
        if room is not None:
            lines[room] += len((root / module).read_text(encoding="utf-8").splitlines())
    return lines


def _defined_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name, lineno=line):
                yield name, line
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
                arguments = node.args
                for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs):
                    yield from ((argument.arg, argument.lineno) for argument in group)
            case ast.Name(id=name, ctx=ast.Store(), lineno=line):
                yield name, line


def _docstrings(tree: ast.Module) -> Iterator[tuple[Node, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                yield node, text
