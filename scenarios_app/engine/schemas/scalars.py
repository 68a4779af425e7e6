"""Draws numbers and strings that a JSON Schema allows: within bounds and multiples, or by length,
pattern and format."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from random import Random
from string import ascii_lowercase, digits

from scenarios_app.engine.schemas.keywords import (
    Parts,
    SchemaError,
    get_count,
    get_number,
    get_text,
    pick,
)
from scenarios_app.engine.schemas.patterns import make_sample

MAX_STRING_CHARS = 100_000
_TRIES = 40

# Templates of formats, with the names of _SYMBOLS.
_FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2025-0%n-1%d",),
    "time": ("0%d:%s%d:%s%dZ",),
    "date-time": ("2025-0%n-1%dT0%d:%s%d:%s%dZ",),
    "duration": ("P%nD", "PT%nH%s%dM"),
    "email": ("%w@example.com", "%w@a.io"),
    "idn-email": ("%w@example.com",),
    "hostname": ("%w.example.com", "%w"),
    "idn-hostname": ("%w.example.com",),
    "ipv4": ("192.0.2.%n%d", "192.0.2.%d"),
    "ipv6": ("2001:db8::%n%h%h%h", "::1"),
    "uri": ("https://example.com/%w", "urn:a:%w"),
    "url": ("https://example.com/%w",),
    "http-url": ("https://example.com/%w",),
    "iri": ("https://example.com/%w",),
    "uri-reference": ("/%w",),
    "iri-reference": ("/%w",),
    "uri-template": ("https://example.com/%w/{id}",),
    "uuid": ("%h%h%h%h%h%h%h%h-%h%h%h%h-4%h%h%h-a%h%h%h-%h%h%h%h%h%h%h%h%h%h%h%h",),
    "json-pointer": ("/%w",),
    "relative-json-pointer": ("%d/%w",),
    "regex": ("%w",),
    "byte": ("%l%l%l%l",),
    "binary": ("%l%l%l%l",),
    "base64url": ("%l%l%l%l",),
    "decimal": ("%n%d.%d%d",),
    "json-string": ('"%w"',),
}
_SPAN = 100
_DRAWS = 20
_LATIN = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut "
    "labore et dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris "
    "nisi aliquip ex ea commodo consequat duis aute irure in reprehenderit voluptate velit esse "
    "cillum fugiat nulla pariatur excepteur sint occaecat cupidatat non proident sunt culpa qui "
    "officia deserunt mollit anim id est laborum"
)
WORDS = _LATIN.split()
# What stands for %w and the others in formats.
_SYMBOLS: Mapping[str, Sequence[str]] = {
    "w": WORDS,
    "d": digits,
    "n": digits[1:],
    "s": digits[:6],
    "h": digits + "abcdef",
    "l": ascii_lowercase,
}


def draw_strings(parts: Parts, rng: Random) -> Iterator[str]:
    """Yield random strings for schemas, at least 40, mostly of the right length, pattern or format.
    Raises SchemaError for a `minLength` above 100,000 and for an unsupported pattern."""
    minimum = max((get_count(p, "minLength") or 0 for p in parts), default=0)
    maximum = min(
        (n for p in parts if (n := get_count(p, "maxLength")) is not None), default=MAX_STRING_CHARS
    )
    if minimum > MAX_STRING_CHARS:
        raise SchemaError(f"'minLength' asks for more than {MAX_STRING_CHARS} characters.")
    patterns = [value for p in parts if (value := get_text(p, "pattern")) is not None]
    formats = [value for p in parts if (value := get_text(p, "format") or "") in _FORMATS]
    for attempt in range(_TRIES):
        if patterns:
            yield from _draw_pattern_strings(
                patterns[attempt % len(patterns)], minimum, rng, attempt
            )
        if formats:
            yield from _draw_format_strings(formats[attempt % len(formats)], minimum, maximum, rng)
        if not patterns:
            yield _draw_words(minimum, maximum, rng)


def _draw_pattern_strings(pattern: str, minimum: int, rng: Random, attempt: int) -> Iterator[str]:
    """Yield texts made from a pattern, also padded to `minimum` characters; not all need to match
    it. `attempt` varies the number of repetitions."""
    grows = (3, 8, 0, 1, minimum, 2 * minimum, 20)
    drawn = make_sample(pattern, rng, grows[attempt % len(grows)])
    yield drawn
    if (missing := minimum - len(drawn)) > 0:
        # A pattern without anchors allows text around it.
        yield drawn + "a" * missing
        yield "a" * missing + drawn


def _draw_format_strings(name: str, minimum: int, maximum: int, rng: Random) -> Iterator[str]:
    """Yield a text for each template of a format, such as `date`, whose length is in the bounds."""
    for form in _FORMATS[name]:
        # Missing characters are added before the word.
        before, word, after = form.partition("%w")
        halves = _fill_format(before, rng), _fill_format(word + after, rng)
        missing = max(0, minimum - len("".join(halves))) if word else 0
        drawn = ("a" * missing).join(halves)
        if minimum <= len(drawn) <= maximum:
            yield drawn


def _fill_format(form: str, rng: Random) -> str:
    """Return a format's template with random values for its symbols, such as `%d`."""
    start, *rest = form.split("%")
    return start + "".join(pick(_SYMBOLS[piece[0]], rng) + piece[1:] for piece in rest)


def _draw_words(minimum: int, maximum: int, rng: Random) -> str:
    """Return two to five random words, or more if `minimum` characters need more; cut to `maximum`
    characters."""
    words: list[str] = []
    size, wanted = -1, 2 + int(rng.random() * 4)
    while len(words) < wanted or size < minimum:
        words.append(pick(WORDS, rng))
        size += 1 + len(words[-1])
    drawn = " ".join(words)[:maximum]
    # Many clients would drop a space at the end.
    return drawn[:-1] + "a" if drawn.endswith(" ") else drawn


def draw_numbers(parts: Parts, rng: Random, *, integer: bool) -> Iterator[int | float]:
    """Yield at most 101 numbers for schemas, mostly within the bounds; none if these exclude all.
    With `integer`, yield only whole numbers. Raises SchemaError for an invalid `multipleOf`."""
    low, over = _narrowest_bound(parts, "minimum", "exclusiveMinimum", sign=1)
    high, under = _narrowest_bound(parts, "maximum", "exclusiveMaximum", sign=-1)
    step = _common_multiple(parts, integer=integer)
    if low is None:
        low = Fraction(0) if high is None or high > 0 else high - _SPAN * (step or 1)
    if high is None:
        high = low + _SPAN * (step or 1)
    if step is not None:
        first = floor(low / step) + 1 if over else ceil(low / step)
        last = ceil(high / step) - 1 if under else floor(high / step)
        yield from (_to_json_number(step * k) for k in _draw_integers(first, last, rng))
    elif low < high:
        yield from _draw_fractions(low, high, rng)
        yield from (_to_json_number((low + high) / 2), _to_json_number(low), _to_json_number(high))
    elif low == high:
        yield _to_json_number(low)


def _narrowest_bound(
    parts: Parts, key: str, exclusive: str, *, sign: int
) -> tuple[Fraction | None, bool]:
    """Return the narrowest bound of a side, or None, and whether it is exclusive (a flag in draft
    4). `sign` is 1 for lower bounds and -1 for upper ones."""
    bounds = [
        (sign * value, part.get(exclusive) is True or name == exclusive)
        for part in parts
        for name in (key, exclusive)
        if (value := get_number(part, name)) is not None
    ]
    value, outside = max(bounds, default=(None, False))
    return None if value is None else sign * value, outside


def _common_multiple(parts: Parts, *, integer: bool) -> Fraction | None:
    """Return the least common multiple of each `multipleOf`, and of 1 for integers; None without
    any. Raises SchemaError for a `multipleOf` that is not above 0."""
    steps = [step for p in parts if (step := get_number(p, "multipleOf")) is not None]
    if any(step <= 0 for step in steps):
        raise SchemaError("'multipleOf' must be above 0.")
    steps += [Fraction(1)] if integer else []
    tops, bottoms = [step.numerator for step in steps], [step.denominator for step in steps]
    return Fraction(lcm(*tops), gcd(*bottoms)) if steps else None


def _draw_integers(first: int, last: int, rng: Random) -> Iterator[int]:
    """Yield integers from `first` to `last`: all of at most 101, from a random one on; of more, 20
    random ones and then 20 at each end."""
    count = last - first + 1
    if count <= 0:
        return
    start = int(rng.random() * count)
    if count <= _SPAN + 1:
        yield from (first + (start + i) % count for i in range(count))
        return
    yield from (first + int(rng.random() * count) for _ in range(_DRAWS))
    yield from range(first, first + _DRAWS)
    yield from range(last - _DRAWS + 1, last + 1)


def _draw_fractions(low: Fraction, high: Fraction, rng: Random) -> Iterator[int | float]:
    """Yield 20 random numbers of a range, rounded up to as few decimals as its size allows."""
    span, decimals = high - low, 1
    while span * 10**decimals < 10 and decimals < 30:
        decimals += 1
    unit = Fraction(1, 10**decimals)
    for _ in range(_DRAWS):
        yield _to_json_number((low + span * Fraction(rng.random())) // unit * unit + unit)


def _to_json_number(value: Fraction) -> int | float:
    """Return a fraction as an int if it is whole or too large for a float, else as a float."""
    try:
        return int(value) if value.denominator == 1 else float(value)
    except OverflowError:
        return int(value)
