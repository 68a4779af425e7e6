"""The known differences of OpenAI's wires from recorded answers: the rows of the table in
docs/differences.md."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

GROWN = "the API has grown since; ours is today's"


@dataclass(frozen=True)
class Difference:
    """Paths that only one of the two answers has, with the reason.

    `before` is the first day on which they were recorded; older answers cannot have them. Without
    it the reason holds for all answers.
    """

    wire: str
    paths: tuple[str, ...]
    why: str
    before: str = ""

    def excuses(self, wire: str, path: str, day: str) -> bool:
        if wire != self.wire or (self.before and day >= self.before):
            return False
        return any(fnmatchcase(path, _escape_brackets(pattern)) for pattern in self.paths)


def _escape_brackets(pattern: str) -> str:
    """Return a pattern whose brackets match literally."""
    return pattern.replace("[", "[[]")


DIFFERENCES = (
    Difference(
        "OpenAI Responses",
        (
            "tool_usage*",
            "usage.input_tokens_details.cache_write_tokens",
            "reasoning.mode",
        ),
        GROWN,
        "2026-07-15",
    ),
    Difference(
        "OpenAI Responses",
        (
            "reasoning.context",
            "output[reasoning].content",
            "output[reasoning].encrypted_content",
            "tools[function].output_schema",
        ),
        GROWN,
        "2026-06-25",
    ),
    Difference("OpenAI Responses", ("moderation",), GROWN, "2026-04-27"),
    Difference(
        "OpenAI Responses",
        ("completed_at", "frequency_penalty", "presence_penalty"),
        GROWN,
        "2026-01-18",
    ),
    Difference("OpenAI Responses", ("billing*",), GROWN, "2025-09-18"),
    Difference(
        "OpenAI Responses",
        (
            "background",
            "max_tool_calls",
            "prompt_cache_key",
            "safety_identifier",
            "service_tier",
            "top_logprobs",
            "text.verbosity",
            "output[message].content[output_text].logprobs",
            "reasoning.summary",
            "sequence_number",
            "name",
            "store",
            "obfuscation",
        ),
        GROWN,
        "2025-09-10",
    ),
    Difference("OpenAI Responses", ("prompt_cache_retention",), GROWN, "2026-01-18"),
    Difference(
        "OpenAI Responses",
        ("reasoning.generate_summary",),
        "an old name of `summary`, given up by the API",
        "2025-06-10",
    ),
    Difference(
        "OpenAI Responses",
        ("output[reasoning]*",),
        "whether a model thinks is its own choice: ours begin with an item of reasoning as most "
        "answers of their family do",
    ),
    Difference(
        "OpenAI Responses",
        ("tools", "tools[function]*", "tools[namespace]*"),
        "whether a tool that a search finds has a separate namespace depends on earlier results; "
        "here all of them do",
    ),
    Difference(
        "OpenAI chat",
        ("moderation*",),
        "answers are not moderated; use `/v1/moderations`",
    ),
    Difference(
        "OpenRouter",
        (
            "system_fingerprint",
            "service_tier",
            "usage.is_byok",
            "usage.cost*",
            "usage.prompt_tokens_details*",
            "usage.completion_tokens_details*",
            "choices[].logprobs",
        ),
        GROWN,
        "2026-06-01",
    ),
    Difference(
        "OpenRouter",
        ("usage.is_byok", "usage.server_tool_use_details*"),
        "tools of the provider's own are offered, and not run",
    ),
    Difference(
        "OpenRouter",
        (
            "choices[].message.reasoning_details*",
            "choices[].delta.reasoning_details[reasoning.text].signature",
        ),
        "reasoning is sent where a script has it",
    ),
    Difference(
        "Groq",
        ("service_tier", "x_groq.seed", "usage.completion_tokens_details*"),
        GROWN,
        "2025-10-01",
    ),
    Difference("Groq", ("usage_breakdown*",), "null where models are not told apart", "2025-06-01"),
    Difference(
        "Mistral",
        ("usage.num_cached_tokens", "usage.prompt_tokens_details*"),
        "what was cached stood in another place",
        "2026-04-01",
    ),
)
