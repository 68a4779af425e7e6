"""The rules of clients, a row each, in the order in which they are told."""

from scenarios_app.verdict.conversation_rules import (
    PROMPT_CACHE_BROKEN,
    TOOL_ARGUMENTS_OUTSIDE_SCHEMA,
    TOOL_RESULT_MISSING,
    TOOL_RESULT_UNKNOWN,
)
from scenarios_app.verdict.findings import Rule
from scenarios_app.verdict.retry_rules import (
    NO_BACK_OFF,
    RETRIED_UNRETRYABLE,
    RETRY_AFTER_IGNORED,
)
from scenarios_app.verdict.stream_rules import (
    STREAM_CLOSED_EARLY,
    TRUNCATED_TAKEN_AS_COMPLETE,
    USAGE_UNREAD,
)

RULES: tuple[Rule, ...] = (
    RETRY_AFTER_IGNORED,
    NO_BACK_OFF,
    RETRIED_UNRETRYABLE,
    TRUNCATED_TAKEN_AS_COMPLETE,
    STREAM_CLOSED_EARLY,
    USAGE_UNREAD,
    TOOL_RESULT_MISSING,
    TOOL_RESULT_UNKNOWN,
    TOOL_ARGUMENTS_OUTSIDE_SCHEMA,
    PROMPT_CACHE_BROKEN,
)
