"""Scenario documents that hold every key of the format and every kind of fault, made from the
format's JSON Schema and the registry of faults: what is added there is in them too."""

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
BESIDE: Mapping[str, tuple[Object, ...]] = {
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
# Items that a list must begin with.
BEGINNINGS: Mapping[Key, list[Object]] = {("UserDocument", "turns"): [{"say": WORD}]}
# A scenario with more than FEW steps sends the fields of a step when its row is opened.
FEW, MANY = 10, 40
# Items of a list in a packed step.
LISTED = 4


@cache
def models() -> Mapping[str, Any]:
    """The JSON Schemas of the format's models by name."""
    definitions: Mapping[str, Any] = json_schema()["$defs"]
    return definitions


class Samples:
    """Values for the parts of a JSON Schema, the plainest first. Not all of them load."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def of_model(self, name: str) -> list[Any]:
        """Return objects with each value of each key when first asked, later the plainest."""
        if name == "JsonValue":
            return [{"b": 1, "a": [None, 0.5, "é\n"]}, AWKWARD, 0]
        keys, needed = models()[name]["properties"], self._needed(name)
        bases = [needed | more for more in BESIDE.get(name, ({},))]
        if name in self._done:
            return bases[:1]
        self._done.add(name)
        values = [{key: one} for key in keys for one in self._of_key(name, key)]
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
                return [value for one in schemas for value in self.of(one)]
            case {"type": "null"}:
                return []
            case {"type": "boolean"}:
                return [True, False]
            case {"type": "integer", **limits}:
                least, most = limits.get("minimum", 0), limits.get("maximum", 7)
                return [min(max(least, 7), most), least]
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
        beginning = BEGINNINGS.get((name, key))
        return [[*beginning, *value] for value in values] if beginning else values

    def _needed(self, name: str) -> Object:
        model, done = models()[name], self._done
        self._done = set(models())
        required = {key: self._of_key(name, key)[0] for key in model.get("required", ())}
        self._done = done
        return required


@cache
def with_every_key() -> tuple[ScenarioDocument, ...]:
    """Every key of the format, those of faults in `with_every_fault`."""
    return (*paged("keys", packed(key_steps())), *whole_scenarios())


@cache
def with_every_fault() -> tuple[ScenarioDocument, ...]:
    """Every kind of fault, also in a scenario whose steps are selected by the turn."""
    turns = [without(step, "consume") | {"turn": n} for n, step in enumerate(full_faults(), 1)]
    by_turn = {"name": "faults by turn", "select": "first_user_message", "steps": turns}
    return (*paged("faults", list(fault_steps())), *load_documents(by_turn))


def generated() -> list[ScenarioDocument]:
    return [*with_every_key(), *with_every_fault()]


def paged(name: str, steps: list[Object]) -> list[ScenarioDocument]:
    """A scenario that is short enough to be sent at once, and long ones with the other steps."""
    pages = [steps[:FEW], *(steps[at : at + MANY] for at in range(FEW, len(steps), MANY))]
    return load_documents([{"name": f"{name} {n}", "steps": page} for n, page in enumerate(pages)])


def short() -> list[ScenarioDocument]:
    """Every kind of fault, in scenarios whose pages hold the fields of all steps."""
    steps = list(full_faults())
    pages = [steps[at : at + FEW] for at in range(0, len(steps), FEW)]
    return load_documents([{"name": f"short {n}", "steps": page} for n, page in enumerate(pages)])


def key_steps() -> list[Object]:
    """A step for each value of each key, without those that do not load."""
    steps: dict[str, Object] = {}
    for step in Samples().of_model("StepDocument"):
        if repr(step) not in steps and loads(alone(step)):
            steps[repr(step)] = step
    return list(steps.values())


def packed(steps: Iterable[Object]) -> list[Object]:
    """The same keys in fewer steps: each goes into the first that does not say otherwise."""
    packs: list[Object] = []
    for step in steps:
        for number, pack in enumerate(packs):
            both = merged(pack, step)
            if both is not None and loads(alone(both)):
                packs[number] = both
                break
        else:
            packs.append(step)
    return packs


def merged(one: Object, other: Object) -> Object | None:
    """Both objects as one, or None where they disagree."""
    result = dict(one)
    for key, value in other.items():
        if key not in result or result[key] == value:
            result[key] = value
        elif isinstance(value, dict) and isinstance(result[key], dict):
            inner = merged(result[key], value)
            if inner is None:
                return None
            result[key] = inner
        elif isinstance(value, list) and len(result[key]) < LISTED:
            result[key] = [*result[key], *value]
        else:
            return None
    return result


def fault_steps() -> Iterator[Object]:
    """Every kind of fault, with its required keys alone and with all that it can have, in the
    answer and in the first attempts, of steps that answer every time or once."""
    for kind in FAULT_KINDS.values():
        for number, fault in enumerate(faults_of(kind)):
            for step in with_fault(fault, kind):
                yield {"consume": bool(number % 2), **step}


def full_faults() -> Iterator[Object]:
    """Every kind of fault in both places once, with as many keys as go together."""
    for kind in FAULT_KINDS.values():
        yield from with_fault(max(faults_of(kind), key=len), kind)


def faults_of(kind: FaultKind) -> list[Object]:
    keys = models()["FaultDocument"]["properties"]
    samples = {key: Samples().of(keys[key]) for key in sorted({*kind.keys, *kind.required})}
    bare = {"kind": kind.name, **{key: samples[key][0] for key in kind.required}}
    faults = [bare]
    for which in (0, -1):
        full, left = bare, []
        for key, values in samples.items():
            if loads(alone(with_fault(full | {key: values[which]}, kind)[0])):
                full = full | {key: values[which]}
            else:
                left.append(bare | {key: values[which]})
        faults += [full, *left]
    return faults


def with_fault(fault: Object, kind: FaultKind) -> tuple[Object, Object]:
    """A step whose answer has the fault, and one whose first attempts have it."""
    answer = {**(ANSWER if kind.inside else {}), "fault": fault}
    return {"produce": answer}, {"failures": {"times": 2, "fault": fault}, "produce": ANSWER}


def whole_scenarios() -> Iterator[ScenarioDocument]:
    """All keys of a scenario beside its steps, with each of their values."""
    keys = without(models()["ScenarioDocument"]["properties"], "name", "steps")
    samples = {key: Samples().of(schema) for key, schema in keys.items()}
    samples["user"] = [joined(samples["user"])]
    for number in range(max(map(len, samples.values()))):
        document: Object = {"name": f"scenario {number}", "steps": [{"turn": 1, "produce": ANSWER}]}
        for key, values in samples.items():
            value = values[min(number, len(values) - 1)]
            document |= {key: value} if loads({**document, key: value}) else {}
        yield from load_documents(document)


def joined(users: list[Object]) -> Object:
    """One scripted user with the turns and checkpoints of all that load."""
    users = [user for user in users if loads({"name": "one", "user": user})]
    result: Object = {}
    for user in users:
        for key, value in user.items():
            result[key] = [*result.get(key, ()), *value] if isinstance(value, list) else value
    return result


def without(document: Object, *keys: str) -> Object:
    return {key: value for key, value in document.items() if key not in keys}


def alone(step: Object) -> Object:
    return {"name": "one", "steps": [step]}


def loads(document: Object) -> bool:
    try:
        load_documents(document)
    except DocumentError:
        return False
    return True


def keys_of(value: object) -> Iterator[Key]:
    """The keys that are given in documents, by the model that defines them."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield type(value).__name__, type(value).model_fields[name].alias or name
            yield from keys_of(getattr(value, name))
    elif isinstance(value, Mapping):
        yield from keys_of(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from keys_of(item)


def keys_of_the_format() -> set[Key]:
    reached, waiting = set(), ["ScenarioDocument"]
    while waiting:
        name = waiting.pop()
        if name not in reached and "properties" in models()[name]:
            reached.add(name)
            waiting += references(models()[name])
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
