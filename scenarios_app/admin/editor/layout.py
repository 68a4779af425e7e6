"""The layout of a scenario's page: which column is edited in which group."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Model

from scenarios_app.admin.editor.frequency import FAILURE_SCHEDULES
from scenarios_app.models import Scenario, Step
from scenarios_app.models.columns import column_of


@dataclass(frozen=True, slots=True)
class Cell:
    """A field in a row. `width` is in twelfths. `how` names the field before it, in which one
    chooses how its text is compared. A summary shows label and value; with `clear` only the
    value."""

    field: str
    label: str
    width: int
    help: str = ""
    how: str = ""
    example: str = ""
    clear: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Fields under one heading.

    `folded` groups are closed and show a summary, unless a field in them has an error. `note`
    explains the group above the list of steps. An `optional` group is shown only if one of its
    fields is set. `chooser` has choices that set fields of the group in the browser (`when` in
    `step_fields.html`).
    """

    title: str
    cells: tuple[Cell, ...]
    folded: bool = True
    note: str = ""
    optional: bool = False
    chooser: tuple[tuple[str, str], ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the group's form fields, in order."""
        return tuple(name for cell in self.cells for name in (cell.how, cell.field) if name)


def _cell(model: type[Model], field: str, width: int, help: str = "", **options: Any) -> Cell:
    """Return the cell of a column of this model, labelled as the column."""
    return Cell(field, column_of(model, field).label, width, help, **options)


def _group(title: str, *cells: Cell, **options: Any) -> Group:
    return Group(title, cells, **options)


_scenario_cell = partial(_cell, Scenario)
_step_cell = partial(_cell, Step)

SCENARIO = (
    _group(
        "",
        _scenario_cell("name", 4),
        _scenario_cell("priority", 2, "A higher number is checked first."),
        _scenario_cell("enabled", 2),
        _scenario_cell("select", 4),
        _scenario_cell("description", 7, example="What this scenario is for"),
        _scenario_cell("tags", 5, example="demo, tools"),
        folded=False,
    ),
    _group(
        "Variables and system prompt",
        _scenario_cell(
            "variables",
            6,
            "{{ city }} in an answer is replaced by the value of city.",
            example='{"city": "Paris"}',
        ),
        _scenario_cell(
            "system_prompt_must_include",
            6,
            "One text per line. A request that lacks one gets an error and is recorded as a "
            "violation.",
        ),
        _scenario_cell(
            "extra",
            12,
            "Keys of the scenario document that have no field on this page.",
            example="{}",
        ),
    ),
    _group(
        "Scripted user",
        _scenario_cell(
            "user",
            12,
            "A user who talks to your agent in turns, with checkpoints, in Test or by "
            "mockllm simulate. It answers no requests.",
            example='{"turns": [{"say": "Hello.", "must": [{"say": "Hi!"}]}]}',
        ),
    ),
)

STEP = (
    _group(
        "If the request matches",
        _step_cell("match_user", 12, how="match_user_mode", example="any message"),
        _step_cell("match_user_ignore_case", 5),
        _step_cell("consume", 7),
        folded=False,
        note="Empty fields match anything. Steps are checked from top to bottom; the first one "
        "that matches and is not used up answers.",
    ),
    _group(
        "Then reply",
        _step_cell("answer_text", 12, example="It is sunny in {{ city }}."),
        _step_cell(
            "answer_tool_calls",
            12,
            example='[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
        ),
        folded=False,
    ),
    _group(
        "More conditions",
        _step_cell("match_provider", 3, clear=True),
        _step_cell("match_stream", 3, clear=True),
        _step_cell("match_model", 6, how="match_model_mode", example="any model"),
        _step_cell("match_system", 6, how="match_system_mode", example="any"),
        _step_cell("match_tools", 6, example="get_weather, get_time"),
        _step_cell("match_tool_result", 6, how="match_tool_result_mode", example="any or none"),
        _step_cell("match_tool_result_name", 6, example="get_weather"),
        _step_cell("match_path", 6, example="/v1/chat/completions"),
        _step_cell("turn", 6, "Only for this answer number in the conversation. Empty: any."),
        note="A step with only a provider or path is a default for them: at the same priority, "
        "scenarios with a more specific condition go first. In a regex "
        r"\w, \b, \d and \s match ASCII only: \w+$ finds ln in Köln; [\pL\pN_] matches every "
        "letter and digit.",
    ),
    _group(
        "More of the reply",
        _step_cell("answer_reasoning", 6, example="what the model thinks first"),
        _step_cell("answer_refusal", 6),
        _step_cell("answer_finish_reason", 4),
        _step_cell("answer_input_tokens", 4, example="automatic"),
        _step_cell("answer_output_tokens", 4, example="automatic"),
        _step_cell("report_content", 6, example="# Findings"),
        _step_cell("report_format", 3, example="markdown"),
        _step_cell("report_status", 3, example="success"),
        note="A final report is an agent's last answer. It is sent as a call of the tool "
        "agent__final_report, after the text and the tool calls.",
    ),
    _group(
        "Failures",
        _step_cell("failures_kind", 4),
        _step_cell("failures_times", 4, example="1"),
        _step_cell("failures_status", 3, example="503"),
        _step_cell("failures_message", 5),
        _step_cell("failures_retry_after_ms", 3),
        _step_cell("failures_extra", 4, example='{"code": "busy"}'),
        _step_cell("fault_kind", 4),
        _step_cell("fault_after_chunks", 4, example="1"),
        _step_cell("fault_hold_ms", 4, example="30000"),
        _step_cell("fault_status", 3, example="503"),
        _step_cell("fault_message", 5),
        _step_cell("fault_retry_after_ms", 3),
        _step_cell("fault_extra", 4, example='{"code": "busy"}'),
        note="The first requests of each session can fail, or every request, or both with "
        "different failures. Broken streams send a part of the reply; other failures are sent "
        "instead of it.",
        chooser=FAILURE_SCHEDULES,
    ),
    _group(
        "Timing",
        _step_cell("latency_ms", 4, "Before anything is sent."),
        _step_cell("first_ms", 4),
        _step_cell("chunk_ms", 4),
        _step_cell("words_per_second", 4, "Instead of a fixed time."),
        _step_cell("words_per_chunk", 4, example="5"),
        _step_cell("jitter", 4, "0 to 1: the random share of each gap."),
        note="Empty: as fast as the client reads.",
    ),
    _group(
        "Expectations",
        _step_cell("expect_tools", 6, example="get_weather, get_time"),
        _step_cell("expect_allow_missing_tools", 6),
        _step_cell("expect_temperature", 4),
        _step_cell("expect_top_p", 4),
        _step_cell("expect_reasoning", 4),
        note="Checked on requests that this step answers. A request that differs gets a 400 that "
        "names what was expected, and its session a violation. (Where the scenario is selected by "
        "its name, the answer says so in its text instead.)",
    ),
    _group(
        "Name and side effects",
        _step_cell("name", 4, example="optional"),
        _step_cell("counter", 4, "Goes up by one with each answer of this step."),
        _step_cell("response_status", 4, example="200"),
        _step_cell("response_headers", 6, example='{"x-extra": "1"}'),
        _step_cell("echo_headers", 6, example="x-request-id, x-trace"),
        _step_cell(
            "asserts",
            12,
            "Conditions as in match. One that does not hold is a violation.",
            example='[{"tools": ["get_weather"]}]',
        ),
        note="The name is shown in the journal. Side effects count answers, set the HTTP status "
        "and headers, copy request headers to the response and check the request.",
    ),
    _group(
        "Recorded",
        _step_cell(
            "match_recorded", 6, "exact lists comparison rules to switch off.", example="{}"
        ),
        _step_cell("answer_recorded", 6, "Read-only. Edit the reply above instead."),
        optional=True,
        note="A recorded step matches the same conversation as it was recorded with, and sends the "
        "recorded bytes until its reply is edited.",
    ),
    _group(
        "Advanced (JSON)",
        _step_cell("match_extra", 6, "Keys of match.", example="{}"),
        _step_cell("answer_extra", 6, "Keys of produce.", example='{"json": {"city": "Paris"}}'),
        _step_cell("extra", 12, example="{}"),
        note="Keys of the scenario document that have no field, as JSON.",
    ),
)


def fields_of(groups: tuple[Group, ...]) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group.fields)


def cells_of(groups: tuple[Group, ...]) -> dict[str, Cell]:
    """Return the cells by field name; a `how` field maps to the cell of its text."""
    cells = (cell for group in groups for cell in group.cells)
    return {name: cell for cell in cells for name in (cell.how, cell.field) if name}


STEP_CELLS = cells_of(STEP)
SCENARIO_CELLS = cells_of(SCENARIO)
