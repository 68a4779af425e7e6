"""Mutates recordings of every format and imports them: each is refused clearly or makes a scenario.

As a program: `python -m tests.recording.import_fuzz [FILES_PER_FORMAT] [SEED]`.
"""

import json
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import yaml

from scenarios_app.engine.document import DocumentError, ScenarioDocument, load_text
from scenarios_app.recording.files import read_upload
from tests.recording.import_samples import SAMPLES

MAX_SECONDS: Final = 1.0
MAX_MEGABYTES: Final = 100

_LONG: Final = (
    "(?a" * 40_000,
    "\\(" * 60_000,
    "[^/]+" * 20_000 + "(?",
    "{{" * 50_000,
    "data: {\n\n" * 12_000,
    "sk-" + "a1" * 20_000,
    '"api_key": "' * 10_000,
    "%" * 100_000,
    "9" * 5_000,
    "[" * 100_000,
    "\ud800",
    "a\x00b",
)
_ODD: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        10**30,
        10**400,
        -(2**63),
        "",
        " ",
        "\n",
        "/",
        "{",
        "//[",
        "http://[",
    ),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": [1]}}, ["a"], [1], "text", "2024-01-01", "!!"),
    *_LONG,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A file whose import crashed or took too much."""

    format: str
    number: int
    reason: str
    data: bytes


def mutate(rng: random.Random, value: Any) -> Any:
    """Return a copy of decoded JSON with one to four values, keys or items changed."""
    copy = deepcopy(value)
    for _ in range(rng.randint(1, 4)):
        holder, key = _draw_place(rng, copy)
        if holder is None:
            return deepcopy(rng.choice(_ODD))
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice([*_NAMES, *map(str, _ODD[:20])])] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder += [deepcopy(holder[key]) for _ in range(rng.choice((1, 2, 50)))]
            case 3:
                holder[key] = [holder[key]]
            case 4:
                _, _, other = _list_places(copy)[rng.randrange(len(_list_places(copy)))]
                holder[key] = deepcopy(other)
            case _:
                holder[key] = deepcopy(rng.choice(_ODD))
    return copy


_NAMES: Final = ("request", "response", "body", "url", "urlPattern", "text", "parsed_body", "error")


def _list_places(value: Any) -> list[tuple[Any, Any, Any]]:
    places: list[tuple[Any, Any, Any]] = []
    queue = [value]
    while queue and len(places) < 500:
        holder = queue.pop(0)
        if isinstance(holder, dict | list):
            keys = holder if isinstance(holder, dict) else range(len(holder))
            places += [(holder, key, holder[key]) for key in keys]
            queue += [holder[key] for key in keys]
    return places


def _draw_place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    places = _list_places(value)
    if not places:
        return None, None
    holder, key, _ = rng.choice(places)
    return holder, key


def make_mutated_file(rng: random.Random, suffix: str, value: Any) -> bytes:
    """Return the bytes of a mutated file; in some files, bytes are changed too."""
    changed = mutate(rng, value)
    if suffix == ".yaml":
        data = _yaml(changed)
    elif suffix == ".jsonl" and isinstance(changed, list):
        data = b"\n".join(json.dumps(line).encode() for line in changed)
    else:
        data = json.dumps(changed).encode()
    if rng.random() < 0.3 and data:
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data = data[:at]
            case 1:
                data = (
                    data[:at]
                    + rng.choice((b"\xff", b"\x00", b"{", b'"', b"&a ", b"*a"))
                    + data[at:]
                )
            case 2:
                data = data[:at] + data[at + rng.randint(1, 20) :]
            case _:
                data = data[:at] + data[at : at + 200] * rng.choice((2, 100)) + data[at:]
    return data


def _yaml(value: Any) -> bytes:
    try:
        return yaml.dump(value, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode()
    except UnicodeEncodeError:
        # JSON is YAML, and can contain lone surrogates.
        return json.dumps(value).encode()


def import_file(data: bytes, source: str) -> list[ScenarioDocument]:
    """Return the documents of a file as the import page and the command read them."""
    files = read_upload(data, source=source)
    return load_text(data) if files is None else files.documents


def findings(
    format: str,
    count: int,
    *,
    seed: int = 0,
    clock: Callable[[], float] = time.process_time,
    keep: Callable[[list[ScenarioDocument]], object] = list,
) -> Iterator[Finding]:
    """Yield the findings of `count` mutated files of a format; `keep` stores the documents."""
    suffix, value = SAMPLES[format]
    for number in range(count):
        data = make_mutated_file(random.Random(f"{format}/{seed}/{number}"), suffix, value)
        started, size = clock(), _peak_megabytes()
        reason = ""
        try:
            keep(import_file(data, f"fuzzed{suffix}"))
        except DocumentError:
            pass
        except Exception:
            reason = traceback.format_exc(limit=-4)
        seconds, grown_megabytes = clock() - started, _peak_megabytes() - size
        if not reason and seconds > MAX_SECONDS:
            reason = f"took {seconds:.1f} s"
        if not reason and grown_megabytes > MAX_MEGABYTES:
            reason = f"took {grown_megabytes:.0f} MB"
        if reason:
            yield Finding(format, number, reason, data)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for name in SAMPLES:
        started = time.perf_counter()
        file_findings = list(findings(name, count, seed=seed))
        failed += len(file_findings)
        seconds = time.perf_counter() - started
        print(f"{name}: {count} files, {len(file_findings)} findings, {seconds:.0f} s")
        reasons: dict[str, Finding] = {}
        for finding in file_findings:
            reasons.setdefault(finding.reason.strip().splitlines()[-1][:80], finding)
        for finding in reasons.values():
            print(f"  file {finding.number} ({len(finding.data)} bytes): {finding.reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
