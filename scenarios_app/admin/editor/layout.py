"""Which fields stand where on a scenario's page, and what they are called there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One field. `width` is in twelfths of the row; `how` is a choice that stands before it."""

    field: str
    label: str
    width: int = 3
    help: str = ""
    how: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Fields under one heading; `folded` ones are closed as long as nothing is wrong in them."""

    title: str
    cells: tuple[Cell, ...]
    folded: bool = False
    note: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for cell in self.cells for name in (cell.how, cell.field) if name)


SCENARIO = (
    Group(
        "",
        (
            Cell("name", "Name", 4),
            Cell("priority", "Priority", 2, "Highest first; nothing overrides it."),
            Cell("enabled", "Enabled", 2),
            Cell("select", "Chosen by", 4),
            Cell("description", "Description", 7, example="What this scenario is for"),
            Cell("tags", "Tags", 5, example="demo, tools"),
        ),
    ),
    Group(
        "Variables and system prompt",
        (
            Cell(
                "variables",
                "Variables",
                6,
                "An answer that says {{ city }} sends the value of city.",
                example='{"city": "Paris"}',
            ),
            Cell(
                "system_prompt_must_include",
                "System prompt must include",
                6,
                "One text on each line. A request without one of them gets an error and is "
                "recorded as a violation.",
            ),
            Cell(
                "extra",
                "Rest of the document",
                12,
                "Keys of the scenario document that have no field here.",
                example="{}",
            ),
        ),
        folded=True,
    ),
)

STEP = (
    Group(
        "",
        (
            Cell("name", "Step name", 5, example="optional"),
            Cell("turn", "Turn", 4, "The model's 1st, 2nd … answer; empty for any."),
            Cell("consume", "Only once per session", 3),
        ),
    ),
    Group(
        "When this arrives",
        (
            Cell("match_provider", "Provider", 3),
            Cell("match_stream", "Streaming", 3),
            Cell("match_model", "Model", 6, how="match_model_mode", example="any model"),
            Cell(
                "match_user", "Last user message", 9, how="match_user_mode", example="any message"
            ),
            Cell("match_user_ignore_case", "In any letter case", 3),
            Cell("match_system", "System prompt", 6, how="match_system_mode", example="any"),
            Cell("match_tools", "Tools offered", 6, "Names, with commas.", example="get_weather"),
            Cell(
                "match_tool_result",
                "Last tool result",
                6,
                how="match_tool_result_mode",
                example="any or none",
            ),
            Cell("match_tool_result_name", "Has a result of tool", 3, example="get_weather"),
            Cell("match_path", "Path", 3, example="/v1/chat/completions"),
        ),
        note="What is left empty does not matter. A step with nothing here but a provider or path "
        "is a default for them: of one priority, a scenario that offers a step with a real "
        "condition goes before it, and it before one that offers an empty match. In a regex "
        r"\w, \b, \d and \s know ASCII alone: \w+$ finds ln in Köln; [\pL\pN_] takes every "
        "letter and digit.",
    ),
    Group(
        "Answer with this",
        (
            Cell("answer_text", "Answer text", 12, example="It is sunny in {{ city }}."),
            Cell(
                "answer_tool_calls",
                "Tool calls",
                12,
                example='[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
            ),
            Cell("answer_reasoning", "Reasoning", 6, example="what the model thinks first"),
            Cell("answer_refusal", "Refusal", 6),
            Cell("answer_finish_reason", "Finish reason", 4),
            Cell("answer_input_tokens", "Input tokens", 4, example="counted"),
            Cell("answer_output_tokens", "Output tokens", 4, example="counted"),
        ),
    ),
    Group(
        "Final report",
        (
            Cell("report_content", "Final report", 6, example="# What was found"),
            Cell("report_format", "Report format", 3, example="markdown"),
            Cell("report_status", "Report status", 3, example="success"),
        ),
        folded=True,
        note="An agent's last answer: sent as a call of the tool agent__final_report, after the "
        "text and the tool calls.",
    ),
    Group(
        "Expectations",
        (
            Cell("expect_tools", "Expected tools", 6, "Names, with commas."),
            Cell("expect_allow_missing_tools", "Expected tools may be missing", 6),
            Cell("expect_temperature", "Expected temperature", 4),
            Cell("expect_top_p", "Expected top_p", 4),
            Cell("expect_reasoning", "Expected reasoning", 4),
        ),
        folded=True,
        note="A request that this step answers should also be so. If it is not, the client gets a "
        "400 that names what was expected (where a scenario is chosen by the first user message: "
        "requirement 003's error turn), and the session a violation.",
    ),
    Group(
        "Failures and faults",
        (
            Cell("failures_times", "Fail the first attempts", 4, "How many, in each session."),
            Cell("failures_kind", "Fail with", 4),
            Cell("failures_status", "Failure status", 4, "Of an HTTP error."),
            Cell("failures_message", "Failure message", 8),
            Cell("failures_retry_after_ms", "Failure: retry after (ms)", 4),
            Cell("fault_kind", "Fault of the answer", 4, "Every time, not only at first."),
            Cell("fault_after_chunks", "Fault after chunks", 4, "Of the content.", example="1"),
            Cell("fault_hold_ms", "Fault holds for (ms)", 4, example="30000"),
            Cell("fault_status", "Fault status", 4, "Of an HTTP error."),
            Cell("fault_message", "Fault message", 4),
            Cell("fault_retry_after_ms", "Fault: retry after (ms)", 4),
        ),
        folded=True,
    ),
    Group(
        "Timing",
        (
            Cell("latency_ms", "Latency (ms)", 4, "Before anything is sent."),
            Cell("first_ms", "First chunk after (ms)", 4),
            Cell("chunk_ms", "Time between chunks (ms)", 4),
            Cell("words_per_second", "Words per second", 4, "Instead of a fixed time."),
            Cell("words_per_chunk", "Words per chunk", 4, example="5"),
            Cell("jitter", "Jitter", 4, "0 to 1: how much of each gap is left to chance."),
        ),
        folded=True,
        note="Empty means as fast as the client reads.",
    ),
    Group(
        "Side effects",
        (
            Cell("counter", "Counter", 4, "Goes up by one with each answer of this step."),
            Cell("response_status", "HTTP status of the answer", 4, example="200"),
            Cell("echo_headers", "Headers to echo", 4, "Names, with commas."),
            Cell("response_headers", "Headers of the answer", 6, example='{"x-extra": "1"}'),
            Cell(
                "asserts",
                "Assertions",
                6,
                "Conditions as in match; one that does not hold is a violation.",
                example='[{"tools": ["get_weather"]}]',
            ),
        ),
        folded=True,
    ),
    Group(
        "Free-form JSON",
        (
            Cell("match_extra", "Other conditions", 6, "Keys of match.", example="{}"),
            Cell("answer_extra", "Rest of the answer", 6, "Keys of produce.", example="{}"),
            Cell("failures_extra", "Rest of the failure", 6, example="{}"),
            Cell("fault_extra", "Rest of the fault", 6, example="{}"),
            Cell("extra", "Rest of the step", 12, example="{}"),
        ),
        folded=True,
        note="What the scenario document can say and no field above does, in the document's own "
        "form.",
    ),
)


def fields_of(groups: tuple[Group, ...]) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group.fields)


def cells_of(groups: tuple[Group, ...]) -> dict[str, Cell]:
    """Every field with the cell that it stands in, a `how` with the one of its text."""
    found: dict[str, Cell] = {}
    for group in groups:
        for cell in group.cells:
            found |= {name: cell for name in (cell.how, cell.field) if name}
    return found


STEP_CELLS = cells_of(STEP)
SCENARIO_CELLS = cells_of(SCENARIO)
