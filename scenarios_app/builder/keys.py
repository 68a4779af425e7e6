"""The keyword arguments of the scenario builder, by the section of the document they belong to."""

from collections.abc import Mapping
from typing import TypedDict

from scenarios_app.engine.canonical import Role
from scenarios_app.engine.conditions.reading import Which
from scenarios_app.engine.scenario import Reasoning, Select


class ScenarioKeys(TypedDict, total=False):
    """What is said of a scenario as a whole."""

    description: str
    priority: int
    enabled: bool
    select: Select
    tags: list[str]
    variables: Mapping[str, object]
    system_prompt_must_include: list[str]


class ConditionKeys(TypedDict, total=False):
    """A condition on a text: all that is given must hold."""

    equals: str
    contains: str
    startswith: str
    regex: str
    ignore_case: bool


class MessageKeys(ConditionKeys, total=False):
    """A condition on the text of a message, and which message that is."""

    role: Role
    which: Which


class ResultKeys(ConditionKeys, total=False):
    """A condition on the text of a tool result, and which result that is."""

    tool_call_id: str
    is_error: bool


class ExpectKeys(TypedDict, total=False):
    """What a request should be; one that is not gets an error and is a violation."""

    tools: list[str]
    allow_missing_tools: bool
    temperature: float
    top_p: float
    reasoning: Reasoning


class EnvelopeKeys(TypedDict, total=False):
    """What is said of an HTTP error beside its status and message."""

    type: str
    code: str
    param: str
    body: object
    headers: Mapping[str, str]
    retry_after_ms: int
    retryable: bool


class FaultKeys(EnvelopeKeys, total=False):
    """What is said of a fault; which of these keys it has depends on its kind."""

    status: int
    message: str
    after_chunks: int
    hold_ms: int


class PacingKeys(TypedDict, total=False):
    """When the chunks of a stream leave, by `words_per_second` or by `chunk_ms`."""

    words_per_chunk: int
    words_per_second: float
    chunk_ms: int
    first_ms: int
    jitter: float


class UsageKeys(TypedDict, total=False):
    """Token counts that are part of the totals."""

    reasoning_tokens: int
    cached_tokens: int
