"""Declares every setting once: name, kind with its limits, meaning and default.

`mockllm_site.settings` reads the environment by this struct, other Django projects take their
defaults from it, and `make docs` writes `.env.example` and `docs/reference/settings.md` from it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, get_args

import msgspec

from mockllm_site.kit.setting_kinds import (
    Database,
    Flag,
    Host,
    Kind,
    Mode,
    Names,
    Networks,
    Number,
    OptionalWhole,
    Origins,
    Pairs,
    Paths,
    Redis,
    Text,
    Token,
    Whole,
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The value of each environment variable. An annotation has its kind, whose parser reads the
    text, and its meaning, which for an empty default says what that does."""

    # The server
    MOCKLLM_ENV: Annotated[
        Mode,
        "The mode, in any letter case. `test` has an in-memory database, port 5099 and a frozen "
        "clock.",
    ] = "dev"
    MOCKLLM_LIGHT: Annotated[
        Flag,
        "Serve providers and the control API alone, without chat, admin and pages. `serve "
        "--light` sets it, and servers of tests have it.",
    ] = False
    MOCKLLM_FAST: Annotated[
        Flag,
        "Answer plain requests in `serve` without Django's view. Without it, or with `serve "
        "--no-fast`, answers have the same bytes and cost more time.",
    ] = True
    SECRET_KEY: Annotated[
        Text,
        "Signs logins. Default: a random key, kept in a file beside the SQLite database, or in "
        "the working directory without one. Required in prod: at least 50 random characters.",
    ] = ""
    DEBUG: Annotated[Flag, "Show Django's error pages. Always off in prod."] = False
    ALLOWED_HOSTS: Annotated[
        Names, "Host names that Django's pages answer to. A leading dot includes all subdomains."
    ] = ("localhost", "127.0.0.1", "[::1]")
    MOCKLLM_ADMIN_HOST: Annotated[
        Host,
        "The only host of the admin, chat, journal and traces, such as admin.example.com; "
        "provider routes are then answered on the other hosts only. Default: every host has both.",
    ] = ""
    DATABASE_URL: Annotated[
        Database,
        "The database; PostgreSQL needs the extra `postgres`. Default: mockllm.sqlite3 in the "
        "working directory. Ignored in test mode.",
    ] = None
    MOCKLLM_DATABASE_THREADS: Annotated[
        Whole, "Threads for database access by pages and APIs; each keeps one connection open."
    ] = 8
    REDIS_URL: Annotated[
        Redis,
        "Redis (extra `redis`), to run several processes on one database. Default: one process "
        "keeps all state in memory. Ignored in test mode.",
    ] = ""
    MOCKLLM_READY_FILE: Annotated[
        Text,
        "File in which `serve` writes its address when it is ready, for `mockllm healthcheck` and "
        "scripts.",
    ] = ""

    # The mock
    MOCKLLM_SCENARIOS: Annotated[
        Paths,
        "Files or directories of scenario documents to load at start, and with `serve --watch` "
        "(default in dev) when they change.",
    ] = ()
    MOCKLLM_CONTROL_TOKEN: Annotated[
        Token,
        "Bearer token of the control API. Without it the API is open on loopback in dev and test, "
        "and closed elsewhere. In prod every token needs at least 16 characters.",
    ] = ""
    MOCKLLM_METRICS_TOKEN: Annotated[
        Token,
        "Bearer token of /metrics. Without it /metrics is open where the control API would be.",
    ] = ""
    MOCKLLM_ADMIN_PASSWORD: Annotated[
        Text, "Password of the first admin user. Default: a random one, printed once."
    ] = ""
    MOCKLLM_REQUIRE_AUTH: Annotated[
        Flag, "Require an API key on provider routes; any key will do."
    ] = True
    MOCKLLM_INBAND: Annotated[Flag, "Obey instruction blocks in user messages."] = True
    MOCKLLM_WORDS_PER_SECOND: Annotated[
        Number,
        "Pace of streams of generated text and of instruction blocks. 0: as fast as the client "
        "reads.",
    ] = 50
    MOCKLLM_CANCEL_AFTER_CHUNKS: Annotated[
        OptionalWhole,
        "Break off streams of generated text and of instruction blocks after this many chunks. "
        "Default: never.",
    ] = None
    MOCKLLM_MODELS: Annotated[
        Names, "Models to list in addition to the shipped ones and those that scenarios name."
    ] = ()
    MOCKLLM_CORS_ORIGINS: Annotated[
        Origins,
        "Origins from which browsers may call provider routes. Default: * in dev and test, none "
        "in prod.",
    ] = ("*",)
    MOCKLLM_TRUSTED_PROXIES: Annotated[
        Networks,
        "Proxies whose X-Forwarded-For header is used to count wrong passwords.",
    ] = ()
    MOCKLLM_DRAIN_SECONDS: Annotated[
        Number, "Seconds that running answers may take after the signal to stop."
    ] = 10
    MOCKLLM_UPSTREAMS: Annotated[
        Names,
        "Providers to record from: openai=https://api.openai.com,anthropic=https://…; a name "
        "alone means the provider's own address.",
    ] = ()
    MOCKLLM_UPSTREAM_PATHS: Annotated[
        Names,
        "Paths, with everything below them, that recordings forward in addition to this server's "
        "routes: /v1/files,/v1/vector_stores.",
    ] = ()
    MOCKLLM_UPSTREAM_SECONDS: Annotated[
        Number, "Seconds that an upstream may send nothing before the request fails."
    ] = 600

    # The chat
    AB_TESTING_ENABLED: Annotated[
        Flag, "Allow comparisons of two profiles. Default: true, in prod false."
    ] = True
    MCP_SERVERS: Annotated[
        Text,
        'JSON file that names the MCP servers for the chat: {"NAME": {"command": […]} or {"url": '
        "…}}. Default: the bundled server `demo`, in prod none.",
    ] = ""
    CHAT_ALLOWED_HOSTS: Annotated[
        Names,
        "Hosts, with a non-standard port if there is one, that profiles may send requests and "
        "keys to. Default: those of the named providers, 127.0.0.1:11434 and localhost:11434.",
    ] = ()
    CHAT_KEYS: Annotated[
        Pairs,
        "Variables that hold keys, with the hosts that may receive them: "
        "MY_KEY@llm.example,OTHER_KEY@127.0.0.1:8080. The named providers' own variables "
        "(OPENAI_API_KEY@api.openai.com, …) are always allowed.",
    ] = ()
    CHAT_TOKEN: Annotated[Token, "Bearer token of the chat API in prod; a login works too."] = ""
    CHAT_MAX_ROUNDS: Annotated[Whole, "Maximum model calls in one answer."] = 25
    CHAT_RUN_SECONDS: Annotated[
        Whole, "Maximum seconds for one answer with all its model and tool calls."
    ] = 900
    CHAT_RUN_TEXT_BYTES: Annotated[
        Whole,
        "Maximum bytes that a model may send in one answer: text, thinking and tool arguments.",
    ] = 2_097_152
    CHAT_RUN_TOOL_CALLS: Annotated[Whole, "Maximum tool calls in one answer."] = 128
    CHAT_CONNECT_SECONDS: Annotated[Number, "Maximum seconds to connect to a provider."] = 10
    CHAT_READ_SECONDS: Annotated[
        Number, "Seconds that a provider may send nothing before the call fails."
    ] = 60
    MCP_CALL_SECONDS: Annotated[Number, "Maximum seconds for one tool call."] = 30
    RETENTION_DAYS: Annotated[
        OptionalWhole, "Days after which `prune` deletes conversations and traces. Default: never."
    ] = None

    # Limits
    MOCKLLM_MAX_BODY_BYTES: Annotated[
        Whole, "Maximum bytes of a request body; beyond it the answer is 413."
    ] = 10_485_760
    MOCKLLM_MAX_JSON_DEPTH: Annotated[Whole, "Maximum nesting of a JSON body."] = 64
    MOCKLLM_MAX_JSON_NODES: Annotated[Whole, "Maximum values in a JSON body."] = 200_000
    MOCKLLM_MAX_MESSAGES: Annotated[Whole, "Maximum messages in a request."] = 10_000
    MOCKLLM_MAX_HEADER_BYTES: Annotated[
        Whole, "Maximum bytes of request headers; beyond it the answer is 431."
    ] = 16_384
    MOCKLLM_MAX_TEXT_BYTES: Annotated[Whole, "Maximum bytes of text in one answer."] = 2_097_152
    MOCKLLM_MAX_CONNECTIONS: Annotated[
        Whole,
        "Maximum open connections; beyond it 503 with Retry-After. Lower if the process may open "
        "fewer files.",
    ] = 5_000
    MOCKLLM_KEEP_ALIVE_SECONDS: Annotated[
        Whole,
        "Seconds for which an idle connection stays open, as the header Keep-Alive says. A server "
        "with too many connections closes the longest idle ones earlier.",
    ] = 75
    MOCKLLM_MAX_SESSIONS: Annotated[
        Whole, "Maximum sessions in memory; beyond it the least recently used one is dropped."
    ] = 100_000
    MOCKLLM_MAX_STREAMS: Annotated[
        Whole, "Maximum open streams in a process; beyond it 503 with Retry-After."
    ] = 2_000
    MOCKLLM_MAX_STREAM_SECONDS: Annotated[
        Whole, "Maximum seconds of a stream. Runs of the chat continue, and clients can reconnect."
    ] = 600
    MOCKLLM_MAX_LATENCY_MS: Annotated[
        Whole, "Maximum milliseconds of a scripted latency or hold."
    ] = 600_000
    MOCKLLM_JOURNAL_ROWS: Annotated[Whole, "Maximum requests in the journal."] = 10_000
    MOCKLLM_JOURNAL_BODY_BYTES: Annotated[Whole, "Bytes after which the journal cuts a body."] = (
        1_048_576
    )
    MOCKLLM_JOURNAL_BYTES: Annotated[
        Whole,
        "Maximum bytes of the journal's bodies over 8 KB, compressed; the oldest requests leave.",
    ] = 200_000_000
    MOCKLLM_RECORD_BYTES: Annotated[
        Whole, "Maximum bytes of one response that a recording keeps; at most 10000000."
    ] = 10_000_000
    MOCKLLM_MAX_UPLOAD_BYTES: Annotated[
        Whole, "Maximum bytes of an uploaded file, and of each file of scenarios and recordings."
    ] = 5_242_880
    MOCKLLM_HSTS_SECONDS: Annotated[
        OptionalWhole,
        "Seconds for which browsers insist on HTTPS (Strict-Transport-Security), in prod. "
        "Default: the header is not sent.",
    ] = None


class ProdSettings(Settings, frozen=True, kw_only=True):
    """The settings in prod, where some have another default."""

    MOCKLLM_CORS_ORIGINS: Origins = ()
    AB_TESTING_ENABLED: Flag = False


class Setting(NamedTuple):
    """The kind and meaning of a setting."""

    kind: Kind
    meaning: str


SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {field.name: Setting(*get_args(field.type)[1:]) for field in msgspec.structs.fields(Settings)}
)
DEFAULTS: Final = ProdSettings()
