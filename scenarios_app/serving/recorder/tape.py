"""One interaction while it happens: what is asked, and each piece of the answer with its time."""

import time
from collections.abc import Callable
from typing import Final

from scenarios_app.recording import Interaction, RecordedResponse
from scenarios_app.recording.redaction import redacted
from scenarios_app.serving.recorder.bodies import Reader, TooLong, Unreadable, reader_of
from scenarios_app.serving.recorder.upstream import Outgoing
from scenarios_app.wire.base import Headers

LEFT: Final = "the client left before the answer's end: what had come until then is kept"
CUT: Final = "the upstream ended the connection before the answer's end"
HALF: Final = "the upstream ended its answer in the midst of its compression"
SILENT: Final = "the upstream fell silent before the answer's end"
# What its bytes decide, which are kept decompressed.
_FRAMING: Final = frozenset({"content-encoding", "content-length"})


class Tape:
    """What is kept of one answer, at most so many bytes of it. `clock` gives seconds; the request
    ends when the tape is made."""

    def __init__(
        self, out: Outgoing, *, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._most = most
        self._clock = clock
        self._began = clock()
        self._status = 0
        self._headers: Headers = ()
        self._chunks: list[tuple[float, bytes]] = []
        self._reader: Reader | None = None
        self._notes: list[str] = []
        self.cut = False
        self.problem = ""
        """Why nothing can be kept of the answer, if that is so."""

    def head(self, status: int, headers: Headers, *, encoding: str) -> None:
        """The answer's head has come."""
        self._status = status
        self._headers = tuple(header for header in headers if header[0] not in _FRAMING)
        try:
            self._reader = reader_of(encoding, most=self._most)
        except Unreadable as error:
            self.problem = str(error)

    def piece(self, data: bytes) -> None:
        """A piece of the answer's body has come."""
        if self._reader is None or not data:
            return
        try:
            kept = self._reader.read(data)
        except TooLong as more:
            kept, self._reader = more.beginning, None
            self.cut = True
            self.note(f"the answer is longer than the {self._most:,} bytes that are kept of one")
        except Unreadable as error:
            kept, self._reader = b"", None
            self.problem = str(error)
        if kept:
            at = round((self._clock() - self._began) * 1000, 3)
            self._chunks.append((at, kept))

    def end(self) -> None:
        """The answer has come to its end, as its framing says."""
        if self._reader is not None and not self._reader.whole:
            self.cut = True
            self.note(HALF)

    def note(self, text: str) -> None:
        """Something that people should know of it."""
        self._notes.append(text)

    def interaction(self) -> Interaction:
        """What was recorded, with nothing secret in it."""
        return redacted(
            Interaction(
                self._out.recorded,
                RecordedResponse(self._status, self._headers, tuple(self._chunks), cut=self.cut),
                tuple(self._notes),
            )
        )
