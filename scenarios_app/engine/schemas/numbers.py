"""Numbers that a JSON Schema allows, drawn from within their bounds and of the multiples wanted."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from random import Random

from scenarios_app.engine.schemas.keywords import Parts, SchemaError, number

_SPAN = 100
_DRAWS = 20


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
