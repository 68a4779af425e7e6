"""What the pipeline is told from outside: its limits, its clock and how strict it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scenarios_app.wire.body import Limits


@dataclass(frozen=True, slots=True)
class Options:
    """`clock` freezes what answers say of the time, in Unix seconds; `None` lets it run.

    `inband`: instruction blocks are obeyed. Their answers and generated ones stream so many
    `words_per_second` (0: unpaced), and break off `cancel_after_chunks` if that is given.

    `upstreams` are the base URLs of providers by name, for recordings alone: an upstream may be
    silent for `upstream_seconds`, and so many `record_bytes` are kept of an answer. Beside this
    server's own routes, paths below `upstream_paths` are forwarded.
    """

    require_auth: bool = True
    inband: bool = True
    words_per_second: float = 50
    cancel_after_chunks: int | None = None
    clock: int | None = None
    models: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    max_body_bytes: int = 10_000_000
    max_header_bytes: int = 16_384
    max_text_bytes: int = 2_000_000
    max_streams: int = 2_000
    max_stream_seconds: float = 600
    journal_body_bytes: int = 65_536
    upstreams: Mapping[str, str] = field(default_factory=dict)
    upstream_paths: tuple[str, ...] = ()
    upstream_seconds: float = 600
    record_bytes: int = 10_000_000
