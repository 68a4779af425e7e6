"""Finds in encoded bytes what differs from one answer of a step to the next, and fills it in anew.

A step is encoded twice with sample values: ids of a seed that no request has, a moment far in the
future, and two counts of input tokens. The places of these values in the bytes are the slots.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.parts import SAMPLE_PART
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.engine.producing.usage import count_input

SAMPLE_SEED: Final = Seed("sample")
SAMPLE_UID: Final = "00000000-0000-4000-8000-73616d706c65"
# The two counts differ by one, so that what grows with the count shows by how much. Like the time
# they have ten digits.
SAMPLE_TOKENS: Final = 2_000_000_011
# In the year 2096.
SAMPLE_CREATED: Final = 4_000_000_000
# A time is at most this far from that of the response: 100 days.
_MAX_SECONDS: Final = 8_640_000
# Ids of this many tool calls get slots.
MAX_TOOL_CALLS: Final = 32
_ISO: Final = "%Y-%m-%dT%H:%M:%S"


class Values(NamedTuple):
    """The values from which the slots of one answer are filled; `uid` is its id in the journal."""

    request: CanonicalRequest
    seed: Seed
    created: int
    uid: str


# Returns the bytes of one slot.
Filler: TypeAlias = Callable[[Values], bytes]


class SamplesDiffer(Exception):
    """Two samples differ in more than the slots, so no response template can be made of them."""


class Slotted:
    """Bytes with slots. There is one piece before each slot and one after the last; `numbers` are
    those of the fillers, in the order of their slots."""

    __slots__ = ("_counts", "_form", "_pick", "numbers", "pieces", "size")

    def __init__(self, pieces: Sequence[bytes], numbers: Sequence[int]) -> None:
        self.pieces = tuple(pieces)
        self.numbers = tuple(numbers)
        # Without the values.
        self.size = sum(map(len, pieces))
        # A stream has a slot or more in each of its events: one formatting fills all of them.
        self._form = b"%b".join([piece.replace(b"%", b"%%") for piece in pieces])
        self._pick = itemgetter(*numbers) if numbers else None
        self._counts = tuple(Counter(numbers).items())

    def fill(self, values: Sequence[bytes]) -> bytes:
        """Return the bytes with each slot filled by the value with the number of its filler."""
        if self._pick is None:
            return self.pieces[0]
        filled: bytes = self._form % self._pick(values)
        return filled

    def fill_text(self, values: Sequence[bytes]) -> str:
        """Return the filled bytes as text."""
        return self.fill(values).decode("utf-8", "surrogatepass")

    def length(self, values: Sequence[bytes]) -> int:
        """Return the number of bytes that `fill` returns for these values."""
        return self.size + sum([count * len(values[number]) for number, count in self._counts])


def join_slotted(several: Iterable[Slotted]) -> Slotted:
    """Return the concatenation of slotted bytes that have the same fillers."""
    pieces = [b""]
    numbers: list[int] = []
    for each in several:
        first, *rest = each.pieces
        pieces = [*pieces[:-1], pieces[-1] + first, *rest]
        numbers += each.numbers
    return Slotted(pieces, numbers)


class SlotFinder:
    """Finds slots in the bytes of one response. It adds their fillers to `fillers`; the number of a
    slot is its filler's index there."""

    def __init__(self, request_part: Callable[[CanonicalRequest, str], bytes] | None) -> None:
        """`request_part` makes the bytes for SAMPLE_PART from the request and the response's id."""
        self._request_part = request_part
        self.fillers: list[Filler] = []
        self._numbers: dict[object, int] = {}

    def find(self, data: bytes, more_tokens: bytes) -> Slotted:
        """Return the bytes of a sample response with slots; `more_tokens` are those of the same
        response with one more token of input. Raises SamplesDiffer."""
        matches, others = list(_PATTERN.finditer(data)), list(_PATTERN.finditer(more_tokens))
        if _between(data, matches) != _between(more_tokens, others):
            raise SamplesDiffer
        pieces: list[bytes] = []
        numbers: list[int] = []
        begin = 0
        for match, other in zip(matches, others, strict=True):
            key, filler = self._filler(match[0], other[0])
            if filler is None:
                continue
            if key not in self._numbers:
                self._numbers[key] = len(self.fillers)
                self.fillers.append(filler)
            pieces.append(data[begin : match.start()])
            numbers.append(self._numbers[key])
            begin = match.end()
        pieces.append(data[begin:])
        return Slotted(pieces, numbers)

    def find_text(self, text: str) -> Slotted:
        """Return a text with slots; it must have no token count."""
        data = text.encode("utf-8", "surrogatepass")
        return self.find(data, data)

    def _filler(self, sample: bytes, with_more_tokens: bytes) -> tuple[object, Filler | None]:
        """Return a key, equal for equal fillers, and the filler of a match in both samples: an id,
        the request's part, a count or a time; no filler if it is the same in all answers."""
        if (filler := _id_fillers().get(sample)) is not None:
            return sample, filler
        if sample == SAMPLE_PART:
            part = self._request_part
            assert part is not None
            return sample, lambda values: part(values.request, values.seed.response_id)
        is_number = sample.isdigit()
        if is_number and (growth := int(with_more_tokens) - int(sample)):
            rest = int(sample) - growth * SAMPLE_TOKENS
            key = (growth, rest)
            return key, lambda values: b"%d" % (growth * count_input(values.request) + rest)
        offset = (int(sample) if is_number else _seconds_of(sample)) - SAMPLE_CREATED
        if abs(offset) > _MAX_SECONDS:
            return offset, None
        if is_number:
            return offset, lambda values: b"%d" % (values.created + offset)
        return (_ISO, offset), lambda values: _format_time(values.created + offset)


# Everything that may be a slot: ids, times and numbers of so many digits as the samples have. All
# begin alike, since the search is fast then.
_PATTERN: Final = re.compile(
    rb"[0-9a-f\x00](?:part\x00|[0-9a-f-]{35}|[0-9a-f]{31}|[0-9a-f]{23}|\d{9,}"
    rb"|\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d)"
)


def _between(data: bytes, matches: Sequence[re.Match[bytes]]) -> list[bytes]:
    """Return the bytes before, between and after the matches."""
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches), len(data)]
    return [data[end:start] for end, start in zip(ends, starts, strict=True)]


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
    nothing = CanonicalRequest("", "", "", "")
    sample = Values(nothing, SAMPLE_SEED, SAMPLE_CREATED, SAMPLE_UID)
    return {filler(sample): filler for filler in fillers}


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
