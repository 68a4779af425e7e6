"""Where an answer's ids and draws come from: a hash of the request, never chance."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Seed:
    """What one request makes of itself; every id is hexadecimal, without a provider's prefix."""

    hex: str

    @property
    def response_id(self) -> str:
        return self._derive("response")[:32]

    @property
    def request_id(self) -> str:
        return self._derive("request")[:32]

    def tool_call_id(self, number: int) -> str:
        return self._derive(f"tool call {number}")[:24]

    def draws(self) -> Iterator[float]:
        """Numbers from 0 up to but not including 1, without end and the same every time."""
        block = 0
        while True:
            digest = bytes.fromhex(self._derive(f"draws {block}"))
            for (word,) in struct.iter_unpack(">Q", digest):
                yield (word >> 11) * 2.0**-53
            block += 1

    def _derive(self, purpose: str) -> str:
        return sha256(f"{self.hex}/{purpose}".encode()).hexdigest()


def make_seed(session: str, method: str, path: str, body: bytes, ordinal: int) -> Seed:
    """The seed of the `ordinal`-th request of a session. Nothing else of a request counts."""
    digest = sha256()
    for field in (session, method, path, body, str(ordinal)):
        data = field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field
        # Each field with its length before it: no two requests can frame the same bytes.
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return Seed(digest.hexdigest())
