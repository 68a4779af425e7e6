"""Defines the pipeline's options: limits, clock and strictness."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockllm_site.kit.settings_table import DEFAULTS
from scenarios_app.wire.body import Limits


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the pipeline; most are settings of the same names, with MOCKLLM_ before. `clock`
    freezes the time in responses, in Unix seconds; with `None` it runs.

    `inband` allows instruction blocks. Their answers and generated ones stream `words_per_second`
    (0: unpaced) and break off after `cancel_after_chunks`, if given.

    `upstreams` maps provider names to base URLs for recordings. An upstream may be silent for
    `upstream_seconds`, and `record_bytes` of a response are kept. Paths below `upstream_paths` are
    forwarded in addition to this server's own routes. No answer sets one of `admin_cookies`, and
    none is given on `admin_host`, unless that is empty.
    """

    require_auth: bool = True
    inband: bool = True
    words_per_second: float = DEFAULTS.MOCKLLM_WORDS_PER_SECOND
    cancel_after_chunks: int | None = None
    clock: int | None = None
    models: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    max_body_bytes: int = DEFAULTS.MOCKLLM_MAX_BODY_BYTES
    max_header_bytes: int = DEFAULTS.MOCKLLM_MAX_HEADER_BYTES
    max_text_bytes: int = DEFAULTS.MOCKLLM_MAX_TEXT_BYTES
    max_streams: int = DEFAULTS.MOCKLLM_MAX_STREAMS
    max_stream_seconds: float = DEFAULTS.MOCKLLM_MAX_STREAM_SECONDS
    journal_body_bytes: int = DEFAULTS.MOCKLLM_JOURNAL_BODY_BYTES
    upstreams: Mapping[str, str] = field(default_factory=dict)
    upstream_paths: tuple[str, ...] = ()
    upstream_seconds: float = DEFAULTS.MOCKLLM_UPSTREAM_SECONDS
    admin_cookies: frozenset[str] = frozenset({"sessionid", "csrftoken"})
    admin_host: str = ""
    record_bytes: int = DEFAULTS.MOCKLLM_RECORD_BYTES
