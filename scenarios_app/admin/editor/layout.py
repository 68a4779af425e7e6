"""Which columns stand where on a scenario's page."""

from dataclasses import dataclass
from functools import partial

from scenarios_app.models import Scenario, Step
from scenarios_app.models.columns import column_of


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
    """Fields under one heading; `folded` ones are closed as long as nothing is wrong in them, and
    until what `opens` says holds, an expression of the page's scripts."""

    title: str
    cells: tuple[Cell, ...]
    folded: bool = False
    note: str = ""
    opens: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for cell in self.cells for name in (cell.how, cell.field) if name)


def _cell(
    model: type[Scenario | Step],
    field: str,
    width: int = 3,
    help: str = "",
    *,
    how: str = "",
    example: str = "",
) -> Cell:
    return Cell(field, column_of(model, field).label, width, help, how, example)


_scenario, _step = partial(_cell, Scenario), partial(_cell, Step)

SCENARIO = (
    Group(
        "",
        (
            _scenario("name", 4),
            _scenario("priority", 2, "Highest first; nothing overrides it."),
            _scenario("enabled", 2),
            _scenario("select", 4),
            _scenario("description", 7, example="What this scenario is for"),
            _scenario("tags", 5, example="demo, tools"),
        ),
    ),
    Group(
        "Variables and system prompt",
        (
            _scenario(
                "variables",
                6,
                "An answer that says {{ city }} sends the value of city.",
                example='{"city": "Paris"}',
            ),
            _scenario(
                "system_prompt_must_include",
                6,
                "One text on each line. A request without one of them gets an error and is "
                "recorded as a violation.",
            ),
            _scenario(
                "extra",
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
            _step("name", 5, example="optional"),
            _step("turn", 3, "The model's 1st, 2nd … answer; empty for any."),
            _step("consume", 4),
        ),
    ),
    Group(
        "What goes wrong",
        (
            _step("failures_times", 3, "Attempts of each session.", example="1"),
            _step("failures_kind", 12),
            _step("failures_status", 3, "Of an HTTP error."),
            _step("failures_message", 6),
            _step("failures_retry_after_ms", 3),
            _step("fault_kind", 12),
            _step("fault_after_chunks", 3, "Of the content.", example="1"),
            _step("fault_hold_ms", 3, example="30000"),
            _step("fault_status", 3, "Of an HTTP error."),
            _step("fault_message", 6),
            _step("fault_retry_after_ms", 3),
        ),
        folded=True,
        opens="often.startsWith('failing')",
    ),
    Group(
        "When this arrives",
        (
            _step("match_provider", 3),
            _step("match_stream", 3),
            _step("match_model", 6, how="match_model_mode", example="any model"),
            _step("match_user", 9, how="match_user_mode", example="any message"),
            _step("match_user_ignore_case", 3),
            _step("match_system", 6, how="match_system_mode", example="any"),
            _step("match_tools", 6, "Names, with commas.", example="get_weather"),
            _step(
                "match_tool_result",
                6,
                how="match_tool_result_mode",
                example="any or none",
            ),
            _step("match_tool_result_name", 3, example="get_weather"),
            _step("match_path", 3, example="/v1/chat/completions"),
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
            _step("answer_text", 12, example="It is sunny in {{ city }}."),
            _step(
                "answer_tool_calls",
                12,
                example='[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
            ),
            _step("answer_reasoning", 6, example="what the model thinks first"),
            _step("answer_refusal", 6),
            _step("answer_finish_reason", 4),
            _step("answer_input_tokens", 4, example="counted"),
            _step("answer_output_tokens", 4, example="counted"),
        ),
    ),
    Group(
        "Final report",
        (
            _step("report_content", 6, example="# What was found"),
            _step("report_format", 3, example="markdown"),
            _step("report_status", 3, example="success"),
        ),
        folded=True,
        note="An agent's last answer: sent as a call of the tool agent__final_report, after the "
        "text and the tool calls.",
    ),
    Group(
        "Expectations",
        (
            _step("expect_tools", 6, "Names, with commas."),
            _step("expect_allow_missing_tools", 6),
            _step("expect_temperature", 4),
            _step("expect_top_p", 4),
            _step("expect_reasoning", 4),
        ),
        folded=True,
        note="A request that this step answers should also be so. If it is not, the client gets a "
        "400 that names what was expected (where a scenario is chosen by the first user message: "
        "requirement 003's error turn), and the session a violation.",
    ),
    Group(
        "Timing",
        (
            _step("latency_ms", 4, "Before anything is sent."),
            _step("first_ms", 4),
            _step("chunk_ms", 4),
            _step("words_per_second", 4, "Instead of a fixed time."),
            _step("words_per_chunk", 4, example="5"),
            _step("jitter", 4, "0 to 1: how much of each gap is left to chance."),
        ),
        folded=True,
        note="Empty means as fast as the client reads.",
    ),
    Group(
        "Side effects",
        (
            _step("counter", 4, "Goes up by one with each answer of this step."),
            _step("response_status", 4, example="200"),
            _step("echo_headers", 4, "Names, with commas."),
            _step("response_headers", 6, example='{"x-extra": "1"}'),
            _step(
                "asserts",
                6,
                "Conditions as in match; one that does not hold is a violation.",
                example='[{"tools": ["get_weather"]}]',
            ),
        ),
        folded=True,
    ),
    Group(
        "Recorded",
        (
            _step(
                "match_recorded",
                6,
                "What is asked must be the same conversation. exact: rules that are switched off.",
                example="{}",
            ),
            _step(
                "answer_recorded", 6, "As it came in. It cannot be edited, the answer above can."
            ),
        ),
        folded=True,
        note="A recorded step sends its answer byte for byte as it was recorded, as long as "
        "nothing of the answer above is edited.",
    ),
    Group(
        "Free-form JSON",
        (
            _step("match_extra", 6, "Keys of match.", example="{}"),
            _step("answer_extra", 6, "Keys of produce.", example="{}"),
            _step("failures_extra", 6, example="{}"),
            _step("fault_extra", 6, example="{}"),
            _step("extra", 12, example="{}"),
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
