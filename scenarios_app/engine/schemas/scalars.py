"""Numbers and strings that a JSON Schema allows: drawn from within bounds and of the multiples
wanted; by length, pattern and format, else a few words of lorem."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from random import Random

from scenarios_app.engine.schemas.keywords import Parts, SchemaError, number, text, whole
from scenarios_app.engine.schemas.patterns import sample

LONGEST = 100_000
_TRIES = 40
_HEX = "0123456789abcdef"

# What formats look like. After a percent sign stand a word (w), a digit (d), one from 1 on (n), one
# up to 5 (s), a hexadecimal one (h) or a letter (l).
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


def strings(parts: Parts, rng: Random) -> Iterator[str]:
    """Strings to choose from, no more than a few dozen: most of them fit in length, and in pattern
    or format. Raises SchemaError."""
    least = max((whole(p, "minLength") or 0 for p in parts), default=0)
    most = min((n for p in parts if (n := whole(p, "maxLength")) is not None), default=LONGEST)
    if least > LONGEST:
        raise SchemaError(f"'minLength' asks for more than {LONGEST} characters.")
    patterns = [found for p in parts if (found := text(p, "pattern")) is not None]
    formats = [found for p in parts if (found := text(p, "format")) in _FORMATS]
    for attempt in range(_TRIES):
        if patterns:
            yield from _matching(patterns[attempt % len(patterns)], least, rng, attempt)
        if formats:
            yield from _formatted(formats[attempt % len(formats)] or "", least, most, rng)
        if not patterns:
            yield _words(least, most, rng)


def _matching(pattern: str, least: int, rng: Random, attempt: int) -> Iterator[str]:
    grows = (3, 8, 0, 1, least, 2 * least, 20)
    made = sample(pattern, rng, grows[attempt % len(grows)])
    yield made
    if missing := max(0, least - len(made)):
        # A pattern without anchors leaves room around it.
        yield made + "a" * missing
        yield "a" * missing + made


def _formatted(name: str, least: int, most: int, rng: Random) -> Iterator[str]:
    for form in _FORMATS[name]:
        # What is missing in length is put before the word.
        before, word, after = form.partition("%w")
        halves = _filled(before, rng), _filled(word + after, rng)
        missing = max(0, least - len("".join(halves))) if word else 0
        made = ("a" * missing).join(halves)
        if least <= len(made) <= most:
            yield made


def _filled(form: str, rng: Random) -> str:
    start, *rest = form.split("%")
    return start + "".join(_symbol(piece[0], rng) + piece[1:] for piece in rest)


def _symbol(kind: str, rng: Random) -> str:
    draw = rng.random()
    match kind:
        case "w":
            return WORDS[int(draw * len(WORDS))]
        case "n":
            return str(1 + int(draw * 9))
        case "s":
            return str(int(draw * 6))
        case "h":
            return _HEX[int(draw * 16)]
        case "l":
            return chr(ord("a") + int(draw * 26))
        case _:
            return str(int(draw * 10))


def _words(least: int, most: int, rng: Random) -> str:
    """Two to five words, or as many as the length wants."""
    words: list[str] = []
    size, wanted = -1, 2 + int(rng.random() * 4)
    while len(words) < wanted or size < least:
        words.append(WORDS[int(rng.random() * len(WORDS))])
        size += 1 + len(words[-1])
    made = " ".join(words)[:most]
    # A space that the cut leaves at the end would be lost on many a reader.
    return made[:-1] + "a" if made.endswith(" ") else made


def numbers(parts: Parts, rng: Random, *, integer: bool) -> Iterator[int | float]:
    """Numbers to choose from, a few dozen at most; none where the bounds leave no room."""
    low, over = _bound(parts, "minimum", "exclusiveMinimum", sign=1)
    high, under = _bound(parts, "maximum", "exclusiveMaximum", sign=-1)
    step = _step(parts, integer=integer)
    if low is None:
        low = Fraction(0) if high is None or high > 0 else high - _SPAN * (step or 1)
    if high is None:
        high = low + _SPAN * (step or 1)
    if step is not None:
        first = floor(low / step) + 1 if over else ceil(low / step)
        last = ceil(high / step) - 1 if under else floor(high / step)
        yield from (_json(step * k) for k in _draws(first, last, rng))
    elif low < high:
        yield from _between(low, high, rng)
        yield from (_json((low + high) / 2), _json(low), _json(high))
    elif low == high:
        yield _json(low)


def _bound(parts: Parts, key: str, exclusive: str, *, sign: int) -> tuple[Fraction | None, bool]:
    """The narrowest bound of a side, and whether it is outside itself (in draft 4 by a flag)."""
    found: list[tuple[Fraction, bool]] = []
    for part in parts:
        if (value := number(part, key)) is not None:
            found.append((sign * value, part.get(exclusive) is True))
        if (value := number(part, exclusive)) is not None:
            found.append((sign * value, True))
    if not found:
        return None, False
    value, outside = max(found)
    return sign * value, outside


def _step(parts: Parts, *, integer: bool) -> Fraction | None:
    """What every number is a multiple of."""
    steps = [Fraction(1)] if integer else []
    for part in parts:
        if (step := number(part, "multipleOf")) is not None:
            if step <= 0:
                raise SchemaError("'multipleOf' must be above 0.")
            steps.append(step)
    if not steps:
        return None
    top, bottom = steps[0].numerator, steps[0].denominator
    for step in steps[1:]:
        top, bottom = lcm(top, step.numerator), gcd(bottom, step.denominator)
    return Fraction(top, bottom)


def _draws(first: int, last: int, rng: Random) -> Iterator[int]:
    """Whole numbers of a range, all of a small one; of others those near its ends come
    last."""
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


def _between(low: Fraction, high: Fraction, rng: Random) -> Iterator[int | float]:
    """Numbers of few decimals, as far as they lie apart."""
    span, digits = high - low, 1
    while span * 10**digits < 10 and digits < 30:
        digits += 1
    unit = Fraction(1, 10**digits)
    for _ in range(_DRAWS):
        yield _json((low + span * Fraction(rng.random())) // unit * unit + unit)


def _json(value: Fraction) -> int | float:
    try:
        return int(value) if value.denominator == 1 else float(value)
    except OverflowError:
        return int(value)
