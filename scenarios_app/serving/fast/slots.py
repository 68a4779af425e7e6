"""Finds in encoded bytes what differs from one answer of a step to the next, and fills it in anew.

A step is encoded with sample values: ids of a seed that no request has, a moment far in the future,
and a count of input tokens far beyond any real one. The places of these values in the bytes are the
slots.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeAlias

from scenarios_app.engine.producing.produce import Seed

SAMPLE_SEED: Final = Seed("sample")
SAMPLE_UID: Final = "00000000-0000-4000-8000-73616d706c65"
# So large that a number shows how many times it holds the count, and what is added to that.
SAMPLE_TOKENS: Final = 3_100_000_000_007
# A number holds the count this many times: once, or as nanoseconds at a millisecond per token.
GROWTHS: Final = frozenset({1, 1_000_000})
# What is added is less than this: 10,000 seconds in nanoseconds.
_MAX_ADDED: Final = 1_000_000_000_000
# In the year 2096.
SAMPLE_CREATED: Final = 4_000_000_000
# A time is at most this far from that of the response: 100 days.
_MAX_SECONDS: Final = 8_640_000
# Ids of this many tool calls get slots.
MAX_TOOL_CALLS: Final = 32
_ISO: Final = "%Y-%m-%dT%H:%M:%S"


class Values(NamedTuple):
    """The values from which the slots of one answer are filled. `uid` is its id in the journal,
    `tokens` count its input, and `part` is the part of its request in what is archived."""

    seed: Seed
    created: int
    uid: str
    tokens: int
    part: bytes = b""


# Returns the bytes of one slot.
Filler: TypeAlias = Callable[[Values], bytes]


class Slotted:
    """Bytes with slots. There is one piece before each slot and one after the last; `numbers` are
    those of the fillers, in the order of their slots."""

    __slots__ = ("_form", "_pick", "numbers", "pieces", "size")

    def __init__(self, pieces: Sequence[bytes], numbers: Sequence[int]) -> None:
        self.pieces = tuple(pieces)
        self.numbers = tuple(numbers)
        # Without the values.
        self.size = sum(map(len, pieces))
        # A stream has a slot or more in each of its events: one formatting fills all of them.
        self._form = b"%b".join([piece.replace(b"%", b"%%") for piece in pieces])
        self._pick = itemgetter(*numbers) if numbers else None

    def fill(self, values: Sequence[bytes]) -> bytes:
        """Return the bytes with each slot filled by the value with the number of its filler."""
        if self._pick is None:
            return self.pieces[0]
        filled: bytes = self._form % self._pick(values)
        return filled

    def fill_text(self, values: Sequence[bytes]) -> str:
        """Return the filled bytes as text."""
        return self.fill(values).decode("utf-8", "surrogatepass")


def join_slotted(several: Iterable[Slotted]) -> Slotted:
    """Return the concatenation of slotted bytes that have the same fillers."""
    pieces = [b""]
    numbers: list[int] = []
    for each in several:
        first, *rest = each.pieces
        pieces[-1] += first
        pieces += rest
        numbers += each.numbers
    return Slotted(pieces, numbers)


class SlotFinder:
    """Finds slots in the bytes of one sample response. It adds their fillers to `fillers`; the
    number of a slot is its filler's index there. `counts_input` is true once one is filled with the
    count of input tokens."""

    def __init__(self, part: bytes = b"") -> None:
        """`part` is the sample's part of the request, if responses are archived with one."""
        self._part = part
        self._pattern = _pattern_with(part)
        self.fillers: list[Filler] = []
        self.counts_input = False
        self._numbers: dict[bytes, int | None] = {}

    def find(self, data: bytes) -> Slotted:
        """Return the bytes of a sample response with slots."""
        pieces: list[bytes] = []
        numbers: list[int] = []
        begin, numbers_by_sample = 0, self._numbers
        for match in self._pattern.finditer(data):
            sample = match[0]
            if sample in numbers_by_sample:
                number = numbers_by_sample[sample]
            else:
                number = self._add_filler(sample)
            if number is not None:
                pieces.append(data[begin : match.start()])
                numbers.append(number)
                begin = match.end()
        pieces.append(data[begin:])
        return Slotted(pieces, numbers)

    def find_text(self, text: str) -> Slotted:
        """Return a text with slots."""
        return self.find(text.encode("utf-8", "surrogatepass"))

    def _add_filler(self, sample: bytes) -> int | None:
        """Return the number of the slots for a new match; None if it is the same in all answers."""
        filler = self._filler(sample)
        number = None
        if filler is not None:
            number = len(self.fillers)
            self.fillers.append(filler)
        self._numbers[sample] = number
        return number

    def _filler(self, sample: bytes) -> Filler | None:
        """Return the filler of a match: an id, the request's part, a count or a time."""
        if (filler := _id_fillers().get(sample)) is not None:
            return filler
        if self._part and sample == self._part:
            return attrgetter("part")
        if not sample.isdigit():
            offset = _seconds_of(sample) - SAMPLE_CREATED
            return partial(_time_text, offset) if abs(offset) <= _MAX_SECONDS else None
        number = int(sample)
        growth = round(number / SAMPLE_TOKENS)
        added = number - growth * SAMPLE_TOKENS
        if growth in GROWTHS and abs(added) < _MAX_ADDED:
            self.counts_input = True
            return lambda values: b"%d" % (growth * values.tokens + added)
        offset = number - SAMPLE_CREATED
        return partial(_time_number, offset) if abs(offset) <= _MAX_SECONDS else None


@cache
def _pattern_with(part: bytes) -> re.Pattern[bytes]:
    """Return the pattern of everything that may be a slot: the part, and ids, times and numbers of
    at least as many digits as the samples have. All but the part begin alike, since the search is
    fast then."""
    return re.compile(
        (re.escape(part) + b"|" if part else b"")
        + rb"[0-9a-f](?:[0-9a-f-]{35}|[0-9a-f]{31}|[0-9a-f]{23}|\d{9,}"
        rb"|\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d)"
    )


@cache
def _id_fillers() -> dict[bytes, Filler]:
    """Return the filler of each id that a response may hold, by that id in a sample response."""

    def tool_call_id(number: int, values: Values) -> bytes:
        return values.seed.tool_call_id(number).encode()

    fillers: list[Filler] = [
        lambda values: values.seed.response_id.encode(),
        lambda values: values.seed.request_id.encode(),
        lambda values: values.uid.encode(),
        *(partial(tool_call_id, number) for number in range(1, MAX_TOOL_CALLS + 1)),
    ]
    sample = Values(SAMPLE_SEED, SAMPLE_CREATED, SAMPLE_UID, SAMPLE_TOKENS)
    return {filler(sample): filler for filler in fillers}


def _time_number(offset: int, values: Values) -> bytes:
    """Return the response's time and `offset` seconds in Unix seconds."""
    return b"%d" % (values.created + offset)


def _time_text(offset: int, values: Values) -> bytes:
    """Return the response's time and `offset` seconds as text."""
    return _format_time(values.created + offset)


@lru_cache(maxsize=64)
def _format_time(seconds: int) -> bytes:
    """Return Unix seconds as a UTC time such as `2025-01-01T00:00:00`."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_ISO).encode()


def _seconds_of(text: bytes) -> int:
    """Return the Unix seconds of a UTC time in that form; 0 if there is no such time."""
    try:
        return int(datetime.strptime(text.decode(), _ISO).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return 0
