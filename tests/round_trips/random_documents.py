"""Random documents with values that fields show, values that they do not, and malformed ones."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from scenarios_app.admin.editor.places import KINDS, Layout

TEXTS = [
    "x",
    "",
    " ",
    " x ",
    "a\nb",
    "a\r\nb",
    "\0",
    "\ud800",
    "a,b",
    "\n",
    "é 👩\u200d👧",
    "\x0b",
    "7",
]
PLAIN: Sequence[Any] = [None, True, False, 0, 1, -1, 2**60, 0.5, 1.0, 1e300, -0.0, *TEXTS]
NESTED: Sequence[Any] = [[], {}, [1], ["a"], ["a", "b c"], ["a,b"], [""], [None], [[]], {"": 1}]
OBJECTS: Sequence[Any] = [
    {"a.b": {}},
    {"b": 1, "a": [True]},
    {"kind": "x"},
    {"name": "f"},
    {"contains": "x"},
]
CONDITION: Mapping[str, Sequence[Any]] = {
    "role": ["user", "user", "system", "tool", "assistant", None, 7],
    **{key: ["x", "y z", *TEXTS] for key in ("contains", "equals", "startswith", "name")},
    "ignore_case": [True, False, 1],
    "which": ["last", "first", 0],
}
OTHER_KEYS = [
    "x",
    "headers",
    "tool_calls",
    "choices",
    "code",
    "messages",
    "match",
    "fault",
    "usage",
]


ALL: Sequence[Any] = [*PLAIN, *NESTED, *OBJECTS]
# The values that a kind of field shows.
VALUES_BY_KIND = {kind: [value for value in ALL if shows(value)] for kind, shows in KINDS.items()}


def random_document(random: Random, layout: Layout) -> Any:
    """Return a document with some of a page's places, other keys, and now and then junk inside."""
    document: dict[str, Any] = {}
    fields = [field for field in layout.fields.values() if field.kind in VALUES_BY_KIND]
    chosen = random.sample(fields, random.randint(0, 9))
    if "match.model" in layout.fields:
        names = ("messages(user)", "messages(system)", "tool_results(name)", "model")
        chosen += [layout.fields[f"match.{random.choice(names)}"] for _ in range(2)]
    for field in chosen:
        *outer, last = field.keys
        value = random.choice(random.choice([VALUES_BY_KIND[field.kind], ALL]))
        if "match" in outer and random.random() < 0.5:
            value = random_condition(random)
        if "(" in last:
            last, value = last.partition("(")[0], [random_condition(random) for _ in range(3)]
        owner: Any = document
        for key in outer:
            owner = owner.setdefault(key, {}) if isinstance(owner, dict) else None
        if isinstance(owner, dict):
            owner[last] = deepcopy(value)
    for _ in range(random.randint(0, 3)):
        owner = random.choice([document, *(v for v in document.values() if isinstance(v, dict))])
        owner[random.choice(OTHER_KEYS)] = deepcopy(random.choice(ALL))
    if random.random() < 0.1 and document:
        document[random.choice(list(document))] = deepcopy(random.choice(ALL))
    return _shuffled(random, document)


def random_condition(random: Random) -> Any:
    """Return a condition on a text, a message or a tool result, or something in its place."""
    keys = random.choice([["role", "contains"], ["equals"], ["name"], [*CONDITION]])
    more = random.sample([*CONDITION], random.choice([0, 0, 0, 1, 2]))
    condition = {key: random.choice(CONDITION[key]) for key in dict.fromkeys([*keys, *more])}
    return condition if random.random() < 0.9 else random.choice(ALL)


def _shuffled(random: Random, item: Any) -> Any:
    """Return a copy with the keys of every object in a random order."""
    if isinstance(item, list):
        return [_shuffled(random, one) for one in item]
    if not isinstance(item, dict):
        return item
    pairs = [(key, _shuffled(random, inner)) for key, inner in item.items()]
    random.shuffle(pairs)
    return dict(pairs)
