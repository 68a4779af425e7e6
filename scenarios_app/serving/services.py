"""What one process serves with: made once, started in the ASGI lifespan, or else at first use."""

import logging
import math
import time
from datetime import datetime
from functools import cache

from scenarios_app.catalog import catalog
from scenarios_app.catalog.testcase import running_connection
from scenarios_app.conf import setting
from scenarios_app.engine.memory import MemoryState
from scenarios_app.journal import journal
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.health import play_built_in
from scenarios_app.serving.metrics import Tally
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.wire.body import Limits

log = logging.getLogger(__name__)


class Services:
    """The pipeline, and what stands around it for as long as the process serves."""

    def __init__(self) -> None:
        self.state = MemoryState(setting("MOCKLLM_MAX_SESSIONS"))
        self.tally = Tally()
        self.pipeline = Pipeline(
            catalog=catalog,
            state=self.state,
            options=options(),
            record=self._record,
            drain_at=lambda: self._drain_at,
        )
        self.started = False
        self._drain_at = math.inf

    @property
    def ready(self) -> bool:
        """Whether new requests are welcome."""
        return self.started and self._drain_at == math.inf

    async def start(self) -> None:
        """Compile the scenarios and everything that a first request would have to wait for."""
        catalog.start()
        journal.start()
        problem = await play_built_in(self.pipeline.options)
        if problem:
            raise RuntimeError(f"the built-in step does not play: {problem}")
        self.started = True

    def stop(self) -> None:
        """Write what the journal still holds."""
        self.started = False
        catalog.stop()
        journal.stop()

    def drain(self, seconds: float) -> None:
        """From now on running answers have this long to finish."""
        self._drain_at = min(self._drain_at, time.monotonic() + seconds)

    def _record(self, entry: JournalEntry) -> None:
        self.tally.count(entry)
        journal.record(entry)


@cache
def services() -> Services:
    """The services of this process."""
    return Services()


async def running_pipeline() -> Pipeline:
    """The pipeline of this process; where nobody has started it, its first call does.

    Inside a test case's transaction nothing is started: its rows are seen through its own
    connection, and another one would wait for it for ever.
    """
    here = services()
    if not here.started and running_connection() is None:
        try:
            await here.start()
        except Exception:
            # The pipeline itself says so, in the envelope of whoever asks.
            log.exception("the services could not be started")
    return here.pipeline


def options() -> Options:
    """What the settings say."""
    return Options(
        require_auth=setting("MOCKLLM_REQUIRE_AUTH"),
        inband=setting("MOCKLLM_INBAND"),
        words_per_second=setting("MOCKLLM_WORDS_PER_SECOND"),
        cancel_after_chunks=setting("MOCKLLM_CANCEL_AFTER_CHUNKS"),
        clock=_frozen(setting("MOCKLLM_CLOCK")),
        models=tuple(setting("MOCKLLM_MODELS")),
        origins=tuple(setting("MOCKLLM_CORS_ORIGINS")),
        limits=Limits(
            depth=setting("MOCKLLM_MAX_JSON_DEPTH"),
            nodes=setting("MOCKLLM_MAX_JSON_NODES"),
            messages=setting("MOCKLLM_MAX_MESSAGES"),
        ),
        max_body_bytes=setting("MOCKLLM_MAX_BODY_BYTES"),
        max_header_bytes=setting("MOCKLLM_MAX_HEADER_BYTES"),
        max_text_bytes=setting("MOCKLLM_MAX_TEXT_BYTES"),
        max_streams=setting("MOCKLLM_MAX_STREAMS"),
        max_stream_seconds=setting("MOCKLLM_MAX_STREAM_SECONDS"),
        journal_body_bytes=setting("MOCKLLM_JOURNAL_BODY_BYTES"),
    )


def _frozen(clock: str | None) -> int | None:
    return None if clock is None else int(datetime.fromisoformat(clock).timestamp())
