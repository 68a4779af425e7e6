"""Scenario documents with every key of the format and every kind of fault, generated from the JSON
Schema and the registry of faults, so that additions are covered."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel

from scenarios_app.engine.document import DocumentError, ScenarioDocument, load_documents
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultKind

Object: TypeAlias = dict[str, Any]
# The model that defines a key, and the key.
Key: TypeAlias = tuple[str, str]

WORD = "word"
# Text that a form, a browser or a database may change: line breaks at both ends, markup, quotes.
AWKWARD = "\n<b>\"Käse\"</b> & '7'\n\n {x}\n"
ANSWER: Object = {"text": "Hello."}
CONDITION: Object = {"contains": WORD}
_CONTENT = (ANSWER, {}, ANSWER | {"finish_reason": "stop_sequence"})
_PART = (ANSWER, {}, {"reasoning": WORD})
# Keys that an object needs besides the generated one; the first set that loads is used.
REQUIRED_SIBLINGS: Mapping[str, tuple[Object, ...]] = {
    "AgentDocument": ({"say": WORD}, {}),
    "AnswerDocument": _CONTENT,
    "ChoiceDocument": _CONTENT,
    "CitationDocument": (
        {"url": WORD},
        {"document": WORD},
        {"url": WORD, "start": 0, "end": 6},
        {},
    ),
    "ChunkDocument": _PART,
    "HostedToolDocument": (
        {},
        {"tool": "mcp", "server": WORD, "name": WORD},
        {"server": WORD},
    ),
    "MessageConditionDocument": (CONDITION, {}),
    # Text that is long enough for the ranges of citations.
    "PartDocument": ({"text": "Hello there."}, {}, {"reasoning": WORD}),
    "ProduceDocument": _CONTENT,
    "RangeDocument": ({"min": 1}, {}),
    "ReasoningDocument": (ANSWER, {}),
    "RecordedChunkDocument": (ANSWER, {}),
    "TextConditionDocument": (CONDITION, {}),
    "ToolCallPieceDocument": ({"name": WORD}, {}),
    "UserTurnDocument": ({"when": {"say": WORD}}, {}),
}
# Items at the start of a generated list.
LIST_PREFIXES: Mapping[Key, list[Object]] = {("UserDocument", "turns"): [{"say": WORD}]}
# Above SMALL_PAGE_STEPS steps a page sends the fields of a step when its row is opened.
SMALL_PAGE_STEPS, LARGE_PAGE_STEPS = 10, 40
# Items of a list in a packed step.
MAX_LIST_ITEMS = 4


@cache
def models() -> Mapping[str, Any]:
    """Return the JSON Schemas of the format's models by name."""
    definitions: Mapping[str, Any] = json_schema()["$defs"]
    return definitions


class Samples:
    """Generates values for a JSON Schema, simplest first; not all of them load."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def of_model(self, name: str) -> list[Any]:
        """Return objects with each value of each key on the first call, later the simplest one."""
        if name == "JsonValue":
            return [{"b": 1, "a": [None, 0.5, "é\n"]}, AWKWARD, 0]
        keys, needed = models()[name]["properties"], self._needed(name)
        bases = [needed | extra_keys for extra_keys in REQUIRED_SIBLINGS.get(name, ({},))]
        if name in self._done:
            return bases[:1]
        self._done.add(name)
        values = [{key: value} for key in keys for value in self._of_key(name, key)]
        return [base | value for value in values for base in bases]

    def of(self, schema: Object) -> list[Any]:
        match schema:
            case {"$ref": str(reference)}:
                return self.of_model(reference.rpartition("/")[2])
            case {"const": value}:
                return [value]
            case {"enum": values}:
                return list(values)
            case {"anyOf": schemas}:
                return [value for sub_schema in schemas for value in self.of(sub_schema)]
            case {"type": "null"}:
                return []
            case {"type": "boolean"}:
                return [True, False]
            case {"type": "integer", **limits}:
                minimum, maximum = limits.get("minimum", 0), limits.get("maximum", 7)
                return [min(max(minimum, 7), maximum), minimum]
            case {"type": "number"}:
                return [0.25, 0, 1]
            case {"type": "string", "maxLength": _} | {"type": "string", "pattern": _}:
                return [WORD]
            case {"type": "string"}:
                return [WORD, AWKWARD, ""]
            case {"type": "array", "minItems": 2}:
                return [[1, 7]]
            case {"type": "array", "items": items}:
                return [[value] for value in self.of(items)]
            case {"type": "object", "additionalProperties": values}:
                return [{"x-key": value} for value in self.of(values)]
            case _:
                raise AssertionError(f"no sample for {schema}")

    def _of_key(self, name: str, key: str) -> list[Any]:
        values = self.of(models()[name]["properties"][key])
        beginning = LIST_PREFIXES.get((name, key))
        return [[*beginning, *value] for value in values] if beginning else values

    def _needed(self, name: str) -> Object:
        model, done = models()[name], self._done
        self._done = set(models())
        required = {key: self._of_key(name, key)[0] for key in model.get("required", ())}
        self._done = done
        return required


@cache
def key_scenarios() -> tuple[ScenarioDocument, ...]:
    """Return scenarios with every key of the format except those of faults."""
    return (*split_into_scenarios("keys", pack_steps(key_steps())), *whole_scenarios())


@cache
def fault_scenarios() -> tuple[ScenarioDocument, ...]:
    """Return scenarios with every kind of fault; the last selects its steps by turn."""
    turns = [without(step, "consume") | {"turn": n} for n, step in enumerate(full_faults(), 1)]
    by_turn = {"name": "faults by turn", "select": "first_user_message", "steps": turns}
    return (*split_into_scenarios("faults", list(fault_steps())), *load_documents(by_turn))


def generated() -> list[ScenarioDocument]:
    return [*key_scenarios(), *fault_scenarios()]


def split_into_scenarios(name: str, steps: list[Object]) -> list[ScenarioDocument]:
    """Return a scenario whose page posts all fields, and long ones with the other steps."""
    pages = [
        steps[:SMALL_PAGE_STEPS],
        *(
            steps[at : at + LARGE_PAGE_STEPS]
            for at in range(SMALL_PAGE_STEPS, len(steps), LARGE_PAGE_STEPS)
        ),
    ]
    return load_documents([{"name": f"{name} {n}", "steps": page} for n, page in enumerate(pages)])


def short_fault_scenarios() -> list[ScenarioDocument]:
    """Return scenarios with every kind of fault, short enough that pages load all fields."""
    steps = list(full_faults())
    pages = [steps[at : at + SMALL_PAGE_STEPS] for at in range(0, len(steps), SMALL_PAGE_STEPS)]
    return load_documents([{"name": f"short {n}", "steps": page} for n, page in enumerate(pages)])


def key_steps() -> list[Object]:
    """Return a step for each value of each key, without those that do not load."""
    steps: dict[str, Object] = {}
    for step in Samples().of_model("StepDocument"):
        if repr(step) not in steps and is_valid(scenario_of_step(step)):
            steps[repr(step)] = step
    return list(steps.values())


def pack_steps(steps: Iterable[Object]) -> list[Object]:
    """Merge each step into the first one that it does not contradict."""
    packs: list[Object] = []
    for step in steps:
        for number, pack in enumerate(packs):
            combined_step = merge_objects(pack, step)
            if combined_step is not None and is_valid(scenario_of_step(combined_step)):
                packs[number] = combined_step
                break
        else:
            packs.append(step)
    return packs


def merge_objects(first: Object, second: Object) -> Object | None:
    """Return the merged objects, or None if they contradict each other."""
    result = dict(first)
    for key, value in second.items():
        if key not in result or result[key] == value:
            result[key] = value
        elif isinstance(value, dict) and isinstance(result[key], dict):
            inner = merge_objects(result[key], value)
            if inner is None:
                return None
            result[key] = inner
        elif isinstance(value, list) and len(result[key]) < MAX_LIST_ITEMS:
            result[key] = [*result[key], *value]
        else:
            return None
    return result


def fault_steps() -> Iterator[Object]:
    """Yield steps for every kind of fault, with required keys only and with all keys.

    Each fault is used in the answer and in the first attempts.
    """
    for kind in FAULT_KINDS.values():
        for number, fault in enumerate(faults_of(kind)):
            for step in with_fault(fault, kind):
                yield {"consume": bool(number % 2), **step}


def full_faults() -> Iterator[Object]:
    """Yield the steps of every kind of fault with as many keys as can be combined."""
    for kind in FAULT_KINDS.values():
        yield from with_fault(max(faults_of(kind), key=len), kind)


def faults_of(kind: FaultKind) -> list[Object]:
    keys = models()["FaultDocument"]["properties"]
    samples = {key: Samples().of(keys[key]) for key in sorted({*kind.keys, *kind.required})}
    minimal_fault = {"kind": kind.name, **{key: samples[key][0] for key in kind.required}}
    faults = [minimal_fault]
    for sample_index in (0, -1):
        full, separate_faults = minimal_fault, []
        for key, values in samples.items():
            if is_valid(scenario_of_step(with_fault(full | {key: values[sample_index]}, kind)[0])):
                full = full | {key: values[sample_index]}
            else:
                separate_faults.append(minimal_fault | {key: values[sample_index]})
        faults += [full, *separate_faults]
    return faults


def with_fault(fault: Object, kind: FaultKind) -> tuple[Object, Object]:
    """Return a step whose answer has the fault, and one whose first attempts have it."""
    answer = {**(ANSWER if kind.inside else {}), "fault": fault}
    return {"produce": answer}, {"failures": {"times": 2, "fault": fault}, "produce": ANSWER}


def whole_scenarios() -> Iterator[ScenarioDocument]:
    """Yield scenarios with each value of each key besides `steps`."""
    keys = without(models()["ScenarioDocument"]["properties"], "name", "steps")
    samples = {key: Samples().of(schema) for key, schema in keys.items()}
    samples["user"] = [join_users(samples["user"])]
    for number in range(max(map(len, samples.values()))):
        document: Object = {"name": f"scenario {number}", "steps": [{"turn": 1, "produce": ANSWER}]}
        for key, values in samples.items():
            value = values[min(number, len(values) - 1)]
            document |= {key: value} if is_valid({**document, key: value}) else {}
        yield from load_documents(document)


def join_users(users: list[Object]) -> Object:
    """Return one scripted user with the turns and checkpoints of all users that load."""
    users = [user for user in users if is_valid({"name": "one", "user": user})]
    result: Object = {}
    for user in users:
        for key, value in user.items():
            result[key] = [*result.get(key, ()), *value] if isinstance(value, list) else value
    return result


def without(document: Object, *keys: str) -> Object:
    return {key: value for key, value in document.items() if key not in keys}


def scenario_of_step(step: Object) -> Object:
    return {"name": "one", "steps": [step]}


def is_valid(document: Object) -> bool:
    try:
        load_documents(document)
    except DocumentError:
        return False
    return True


def keys_of(value: object) -> Iterator[Key]:
    """Return the keys that documents set, by the model that defines them."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield type(value).__name__, type(value).model_fields[name].alias or name
            yield from keys_of(getattr(value, name))
    elif isinstance(value, Mapping):
        yield from keys_of(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from keys_of(item)


def format_keys() -> set[Key]:
    reached, pending = set(), ["ScenarioDocument"]
    while pending:
        name = pending.pop()
        if name not in reached and "properties" in models()[name]:
            reached.add(name)
            pending += references(models()[name])
    return {(name, key) for name in reached for key in models()[name]["properties"]}


def references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)
