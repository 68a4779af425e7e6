"""Declares every setting once: name, type, default and meaning.

`mockllm_site.settings` reads the environment by this table, other Django projects take their
defaults from it, and `make docs` writes `.env.example` and `docs/reference/settings.md` from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from mockllm_site.kit import setting_kinds as kinds


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable. `parse` takes its name, and its text or default. Without a
    `default` the meaning says what an empty one does. `prod_default` is None if prod has the same
    default."""

    name: str
    parse: Callable[[str, str], Any]
    meaning: str
    default: str | int = ""
    prod_default: str | None = None

    def default_in(self, *, prod: bool) -> str:
        """Return the default in prod or in the other modes as text; empty if there is none."""
        return str(self.default if self.prod_default is None or not prod else self.prod_default)

    def default_text(self) -> str:
        """Return the default as text; empty if there is none or prod has another."""
        return str(self.default) if self.prod_default is None else ""


SERVER: Final = (
    Setting(
        "MOCKLLM_ENV",
        kinds.parse_mode,
        "The mode, in any letter case. `test` has an in-memory database, port 5099 and a frozen "
        "clock.",
        "dev",
    ),
    Setting(
        "MOCKLLM_LIGHT",
        kinds.parse_flag,
        "Serve providers and the control API alone, without chat, admin and pages. "
        "`serve --light` sets it, and servers of tests have it.",
        "false",
    ),
    Setting(
        "MOCKLLM_FAST",
        kinds.parse_flag,
        "Answer plain requests in `serve` without Django's view. Without it, or with `serve "
        "--no-fast`, answers have the same bytes and cost more time.",
        "true",
    ),
    Setting(
        "SECRET_KEY",
        kinds.parse_text,
        "Signs logins. Default: a random key, kept in a file beside the SQLite database, or in the "
        "working directory without one. Required in prod: at least 50 random characters.",
    ),
    Setting("DEBUG", kinds.parse_flag, "Show Django's error pages. Always off in prod.", "false"),
    Setting(
        "ALLOWED_HOSTS",
        kinds.parse_names,
        "Host names that Django's pages answer to. A leading dot includes all subdomains.",
        "localhost,127.0.0.1,[::1]",
    ),
    Setting(
        "MOCKLLM_ADMIN_HOST",
        kinds.parse_host,
        "The only host of the admin, chat, journal and traces, such as admin.example.com; "
        "provider routes are then answered on the other hosts only. Default: every host has both.",
    ),
    Setting(
        "DATABASE_URL",
        kinds.parse_database,
        "sqlite:///FILE or postgres://USER:PASSWORD@HOST:PORT/NAME (extra `postgres`). Default: "
        "mockllm.sqlite3 in the working directory. Ignored in test mode.",
    ),
    Setting(
        "MOCKLLM_DATABASE_THREADS",
        kinds.parse_whole,
        "Threads for database access by pages and APIs; each keeps one connection open.",
        8,
    ),
    Setting(
        "REDIS_URL",
        kinds.parse_redis,
        "redis://HOST:PORT/DB (extra `redis`), to run several processes on one database. Default: "
        "one process keeps all state in memory. Ignored in test mode.",
    ),
    Setting(
        "MOCKLLM_READY_FILE",
        kinds.parse_text,
        "File in which `serve` writes its address when it is ready, for `mockllm healthcheck` and "
        "scripts. Default: none is written.",
    ),
)
MOCK: Final = (
    Setting(
        "MOCKLLM_SCENARIOS",
        kinds.parse_paths,
        "Files or directories of scenario documents to load at start, and with `serve --watch` "
        "(default in dev) when they change.",
    ),
    Setting(
        "MOCKLLM_CONTROL_TOKEN",
        kinds.parse_token,
        "Bearer token of the control API. Without it the API is open on loopback in dev and test, "
        "and closed elsewhere. In prod every token needs at least 16 characters.",
    ),
    Setting(
        "MOCKLLM_METRICS_TOKEN",
        kinds.parse_token,
        "Bearer token of /metrics. Without it /metrics is open on loopback in dev and test, and "
        "closed elsewhere.",
    ),
    Setting(
        "MOCKLLM_ADMIN_PASSWORD",
        kinds.parse_text,
        "Password of the first admin user. Default: a random one, printed once.",
    ),
    Setting(
        "MOCKLLM_REQUIRE_AUTH",
        kinds.parse_flag,
        "Require an API key on provider routes; any key will do.",
        "true",
    ),
    Setting(
        "MOCKLLM_INBAND", kinds.parse_flag, "Obey instruction blocks in user messages.", "true"
    ),
    Setting(
        "MOCKLLM_WORDS_PER_SECOND",
        kinds.parse_number,
        "Pace of streams of generated text and of instruction blocks. 0: as fast as the client "
        "reads.",
        50,
    ),
    Setting(
        "MOCKLLM_CANCEL_AFTER_CHUNKS",
        kinds.parse_optional_whole,
        "Break off streams of generated text and of instruction blocks after this many chunks. "
        "Default: never.",
    ),
    Setting(
        "MOCKLLM_MODELS",
        kinds.parse_names,
        "Models to list in addition to the shipped ones and those that scenarios name.",
    ),
    Setting(
        "MOCKLLM_CORS_ORIGINS",
        kinds.parse_origins,
        "Origins from which browsers may call provider routes. Default: * in dev and test, none in "
        "prod.",
        "*",
        prod_default="",
    ),
    Setting(
        "MOCKLLM_TRUSTED_PROXIES",
        kinds.parse_networks,
        "Proxies whose X-Forwarded-For header is used to count wrong passwords. Default: none.",
    ),
    Setting(
        "MOCKLLM_DRAIN_SECONDS",
        kinds.parse_number,
        "Seconds that running answers may take after the signal to stop.",
        10,
    ),
    Setting(
        "MOCKLLM_UPSTREAMS",
        kinds.parse_names,
        "Providers to record from: openai=https://api.openai.com,anthropic=https://…; a name alone "
        "means the provider's own address. Default: none.",
    ),
    Setting(
        "MOCKLLM_UPSTREAM_PATHS",
        kinds.parse_names,
        "Paths, with everything below them, that recordings forward in addition to this server's "
        "routes: /v1/files,/v1/vector_stores. Default: none.",
    ),
    Setting(
        "MOCKLLM_UPSTREAM_SECONDS",
        kinds.parse_number,
        "Seconds that an upstream may send nothing before the request fails.",
        600,
    ),
)
CHAT: Final = (
    Setting(
        "AB_TESTING_ENABLED",
        kinds.parse_flag,
        "Allow comparisons of two profiles. Default: true, in prod false.",
        "true",
        prod_default="false",
    ),
    Setting(
        "MCP_SERVERS",
        kinds.parse_text,
        'JSON file that names the MCP servers for the chat: {"NAME": {"command": […]} or {"url": '
        "…}}. Default: the bundled server `demo`, in prod none.",
    ),
    Setting(
        "CHAT_ALLOWED_HOSTS",
        kinds.parse_names,
        "Hosts, with a non-standard port if there is one, that profiles may send requests and keys "
        "to. Default: those of the named providers, 127.0.0.1:11434 and localhost:11434.",
    ),
    Setting(
        "CHAT_KEYS",
        kinds.parse_pairs,
        "Variables that hold keys, with the hosts that may receive them: "
        "MY_KEY@llm.example,OTHER_KEY@127.0.0.1:8080. The named providers' own variables "
        "(OPENAI_API_KEY@api.openai.com, …) are always allowed.",
    ),
    Setting(
        "CHAT_TOKEN", kinds.parse_token, "Bearer token of the chat API in prod; a login works too."
    ),
    Setting("CHAT_MAX_ROUNDS", kinds.parse_whole, "Maximum model calls in one answer.", 25),
    Setting(
        "CHAT_RUN_SECONDS",
        kinds.parse_whole,
        "Maximum seconds for one answer with all its model and tool calls.",
        900,
    ),
    Setting(
        "CHAT_RUN_TEXT_BYTES",
        kinds.parse_whole,
        "Maximum bytes that a model may send in one answer: text, thinking and tool arguments.",
        2_097_152,
    ),
    Setting("CHAT_RUN_TOOL_CALLS", kinds.parse_whole, "Maximum tool calls in one answer.", 128),
    Setting(
        "CHAT_CONNECT_SECONDS", kinds.parse_number, "Maximum seconds to connect to a provider.", 10
    ),
    Setting(
        "CHAT_READ_SECONDS",
        kinds.parse_number,
        "Seconds that a provider may send nothing before the call fails.",
        60,
    ),
    Setting("MCP_CALL_SECONDS", kinds.parse_number, "Maximum seconds for one tool call.", 30),
    Setting(
        "RETENTION_DAYS",
        kinds.parse_optional_whole,
        "Days after which `prune` deletes conversations and traces. Default: never.",
    ),
)
LIMITS: Final = (
    Setting(
        "MOCKLLM_MAX_BODY_BYTES",
        kinds.parse_whole,
        "Maximum bytes of a request body; beyond it the answer is 413.",
        10_485_760,
    ),
    Setting("MOCKLLM_MAX_JSON_DEPTH", kinds.parse_whole, "Maximum nesting of a JSON body.", 64),
    Setting("MOCKLLM_MAX_JSON_NODES", kinds.parse_whole, "Maximum values in a JSON body.", 200_000),
    Setting("MOCKLLM_MAX_MESSAGES", kinds.parse_whole, "Maximum messages in a request.", 10_000),
    Setting(
        "MOCKLLM_MAX_HEADER_BYTES",
        kinds.parse_whole,
        "Maximum bytes of request headers; beyond it the answer is 431.",
        16_384,
    ),
    Setting(
        "MOCKLLM_MAX_TEXT_BYTES",
        kinds.parse_whole,
        "Maximum bytes of text in one answer.",
        2_097_152,
    ),
    Setting(
        "MOCKLLM_MAX_CONNECTIONS",
        kinds.parse_whole,
        "Maximum open connections; beyond it 503 with Retry-After. Lower if the process may open "
        "fewer files.",
        5_000,
    ),
    Setting(
        "MOCKLLM_KEEP_ALIVE_SECONDS",
        kinds.parse_whole,
        "Seconds for which an idle connection stays open, as the header Keep-Alive says. A server "
        "with too many connections closes the longest idle ones earlier.",
        75,
    ),
    Setting(
        "MOCKLLM_MAX_SESSIONS",
        kinds.parse_whole,
        "Maximum sessions in memory; beyond it the least recently used one is dropped.",
        100_000,
    ),
    Setting(
        "MOCKLLM_MAX_STREAMS",
        kinds.parse_whole,
        "Maximum open streams in a process; beyond it 503 with Retry-After.",
        2_000,
    ),
    Setting(
        "MOCKLLM_MAX_STREAM_SECONDS",
        kinds.parse_whole,
        "Maximum seconds of a stream. Runs of the chat continue, and clients can reconnect.",
        600,
    ),
    Setting(
        "MOCKLLM_MAX_LATENCY_MS",
        kinds.parse_whole,
        "Maximum milliseconds of a scripted latency or hold.",
        600_000,
    ),
    Setting("MOCKLLM_JOURNAL_ROWS", kinds.parse_whole, "Maximum requests in the journal.", 10_000),
    Setting(
        "MOCKLLM_JOURNAL_BODY_BYTES",
        kinds.parse_whole,
        "Bytes after which the journal cuts a body.",
        1_048_576,
    ),
    Setting(
        "MOCKLLM_JOURNAL_BYTES",
        kinds.parse_whole,
        "Maximum bytes of the journal's bodies over 8 KB, compressed; the oldest requests leave.",
        200_000_000,
    ),
    Setting(
        "MOCKLLM_RECORD_BYTES",
        kinds.parse_whole,
        "Maximum bytes of one response that a recording keeps; at most 10000000.",
        10_000_000,
    ),
    Setting(
        "MOCKLLM_MAX_UPLOAD_BYTES",
        kinds.parse_whole,
        "Maximum bytes of an uploaded file, and of each file of scenarios and recordings.",
        5_242_880,
    ),
)
PROD_ONLY: Final = (
    Setting(
        "MOCKLLM_HSTS_SECONDS",
        kinds.parse_optional_whole,
        "Seconds for which browsers insist on HTTPS (Strict-Transport-Security), in prod. Default: "
        "the header is not sent.",
    ),
)
SECTIONS: Final = (SERVER, MOCK, CHAT, LIMITS, PROD_ONLY)
SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {setting.name: setting for section in SECTIONS for setting in section}
)


def default_of(name: str) -> Any:
    """Return the parsed default of a setting in prod."""
    setting = SETTINGS[name]
    return setting.parse(name, setting.default_in(prod=True))
