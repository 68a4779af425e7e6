"""The fields of a scenario's page, in groups: a new field is one more row here."""

from scenarios_app.admin.editor.frequency import FAILURE_SCHEDULES
from scenarios_app.admin.editor.places import Field, Group, Layout

SCENARIO = Layout(
    Group(
        "",
        Field("name", "line", "Name", 4),
        Field(
            *("priority", "whole", "Priority", 2),
            help="A higher number is checked first.",
            default=0,
        ),
        Field("enabled", "switch", "Enabled", 2, default=True),
        Field("select", "select", "Selected by", 4, default="match"),
        Field(
            *("description", "text", "Description", 7),
            example="What this scenario is for",
            default="",
        ),
        Field("tags", "names", "Tags", 5, example="demo, tools"),
        folded=False,
    ),
    Group(
        "Variables and system prompt",
        Field(
            *("variables", "object", "Variables", 6),
            help="{{ city }} in an answer is replaced by the value of city.",
            example='{"city": "Paris"}',
        ),
        Field(
            *("system_prompt_must_include", "lines", "System prompt must include", 6),
            help="One text per line. A request that lacks one gets an error and is recorded as "
            "a violation.",
        ),
        Field(
            *("*", "rest", "Other settings (JSON)", 12),
            help="Keys of the scenario document that have no field on this page.",
            example="{}",
        ),
    ),
    Group(
        "Scripted user",
        Field(
            *("user", "object", "Scripted user (JSON)", 12),
            help="A user who talks to your agent in turns, with checkpoints, in Test or by "
            "mockllm simulate. It answers no requests.",
            example='{"turns": [{"say": "Hello.", "must": [{"say": "Hi!"}]}]}',
        ),
    ),
)

STEP = Layout(
    Group(
        "If the request matches",
        Field("match.messages(user)", "message", "Last user message", 12, example="any message"),
        Field("match.messages(user).ignore_case", "ignore_case", "Ignore case", 5),
        Field("consume", "frequency", "Can answer", 7, default=True),
        folded=False,
        note="Empty fields match anything. Steps are checked from top to bottom; the first one "
        "that matches and is not used up answers.",
    ),
    Group(
        "Then reply",
        Field("produce.text", "text", "Answer text", 12, example="It is sunny in {{ city }}."),
        Field(
            *("produce.tool_calls", "list", "Tool calls", 12),
            example='[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
        ),
        folded=False,
    ),
    Group(
        "More conditions",
        Field("match.provider", "provider", "Provider", 3, clear=True),
        Field("match.stream", "stream", "Streaming", 3, clear=True),
        Field("match.model", "model", "Model", 6, example="any model"),
        Field("match.messages(system)", "condition", "System prompt", 6, example="any"),
        Field("match.tools", "names", "Tools in the request", 6, example="get_weather, get_time"),
        Field("match.messages(tool)", "condition", "Last tool result", 6, example="any or none"),
        Field("match.tool_results(name)", "line", "Tool result from", 6, example="get_weather"),
        Field("match.path", "line", "Path", 6, example="/v1/chat/completions"),
        Field(
            *("turn", "whole", "Turn", 6),
            help="Only for this answer number in the conversation. Empty: any.",
        ),
        note="A step with only a provider or path is a default for them: at the same priority, "
        r"scenarios with a more specific condition go first. In a regex \w, \b, \d and \s "
        r"match ASCII only: \w+$ finds ln in Köln; [\pL\pN_] matches every letter and "
        "digit.",
    ),
    Group(
        "More of the reply",
        Field("produce.reasoning", "text", "Reasoning", 6, example="what the model thinks first"),
        Field("produce.refusal", "text", "Refusal", 6),
        Field("produce.finish_reason", "finish", "Finish reason", 4),
        Field("produce.usage.input_tokens", "whole", "Input tokens", 4, example="automatic"),
        Field("produce.usage.output_tokens", "whole", "Output tokens", 4, example="automatic"),
        Field(
            *("produce.final_report.report_content", "text", "Final report", 6),
            example="# Findings",
        ),
        Field("produce.final_report.report_format", "line", "Report format", 3, example="markdown"),
        Field("produce.final_report.status", "line", "Report status", 3, example="success"),
        note="A final report is an agent's last answer. It is sent as a call of the tool "
        "agent__final_report, after the text and the tool calls.",
    ),
    Group(
        "Failures",
        Field("failures.fault.kind", "fault", "Failure type", 4),
        Field(
            *("failures.times", "whole", "Number of failing requests (per session)", 4),
            example="1",
        ),
        Field("failures.fault.status", "whole", "Failure status", 3, example="503"),
        Field("failures.fault.message", "text", "Failure message", 5),
        Field("failures.fault.retry_after_ms", "whole", "Failure: retry after (ms)", 3),
        Field(
            *("failures.fault.*", "rest", "More of the failure (JSON)", 4),
            example='{"code": "busy"}',
        ),
        Field("produce.fault.kind", "fault", "Always fail with", 4),
        Field("produce.fault.after_chunks", "whole", "Fail after chunks", 4, example="1"),
        Field("produce.fault.hold_ms", "whole", "Hold for (ms)", 4, example="30000"),
        Field("produce.fault.status", "whole", "Always fail: status", 3, example="503"),
        Field("produce.fault.message", "text", "Always fail: message", 5),
        Field("produce.fault.retry_after_ms", "whole", "Always fail: retry after (ms)", 3),
        Field("produce.fault.*", "rest", "Always fail: more (JSON)", 4, example='{"code": "busy"}'),
        chooser=FAILURE_SCHEDULES,
        note="The first requests of each session can fail, or every request, or both with "
        "different failures. Broken streams send a part of the reply; other failures are "
        "sent instead of it.",
    ),
    Group(
        "Timing",
        Field("produce.latency_ms", "whole", "Latency (ms)", 4, help="Before anything is sent."),
        Field("produce.pacing.first_ms", "whole", "First chunk after (ms)", 4),
        Field("produce.pacing.chunk_ms", "whole", "Time between chunks (ms)", 4),
        Field(
            *("produce.pacing.words_per_second", "number", "Words per second", 4),
            help="Instead of a fixed time.",
        ),
        Field("produce.pacing.words_per_chunk", "whole", "Words per chunk", 4, example="5"),
        Field(
            *("produce.pacing.jitter", "number", "Jitter", 4),
            help="0 to 1: the random share of each gap.",
        ),
        note="Empty: as fast as the client reads.",
    ),
    Group(
        "Expectations",
        Field("expect.tools", "names", "Expected tools", 6, example="get_weather, get_time"),
        Field(
            *("expect.allow_missing_tools", "switch", "Expected tools may be missing", 6),
            default=False,
        ),
        Field("expect.temperature", "number", "Expected temperature", 4),
        Field("expect.top_p", "number", "Expected top_p", 4),
        Field("expect.reasoning", "reasoning", "Expected reasoning", 4),
        note="Checked on requests that this step answers. A request that differs gets a 400 that "
        "names what was expected, and its session a violation. (Where the scenario is "
        "selected by its name, the answer says so in its text instead.)",
    ),
    Group(
        "Name and side effects",
        Field("name", "line", "Step name", 4, example="optional"),
        Field(
            *("side_effects.counter", "line", "Counter", 4),
            help="Goes up by one with each answer of this step.",
        ),
        Field("side_effects.status", "whole", "HTTP status of the answer", 4, example="200"),
        Field(
            *("side_effects.headers", "object", "Headers of the answer", 6),
            example='{"x-extra": "1"}',
        ),
        Field(
            *("side_effects.echo_headers", "names", "Headers to echo", 6),
            example="x-request-id, x-trace",
        ),
        Field(
            *("side_effects.assert", "list", "Assertions", 12),
            help="Conditions as in match. One that does not hold is a violation.",
            example='[{"tools": ["get_weather"]}]',
        ),
        note="The name is shown in the journal. Side effects count answers, set the HTTP status "
        "and headers, copy request headers to the response and check the request.",
    ),
    Group(
        "Recorded",
        Field(
            *("match.recorded", "object", "Recorded request", 6),
            help="exact lists comparison rules to switch off.",
            example="{}",
        ),
        Field(
            *("produce.recorded", "recorded", "Recorded answer", 6),
            help="Read-only. Edit the reply above instead.",
        ),
        optional=True,
        note="A recorded step matches the same conversation as it was recorded with, and sends "
        "the recorded bytes until its reply is edited.",
    ),
    Group(
        "Advanced (JSON)",
        Field("match.*", "rest", "Other conditions (JSON)", 6, help="Keys of match.", example="{}"),
        Field(
            *("produce.*", "rest", "Other reply settings (JSON)", 6),
            help="Keys of produce.",
            example='{"json": {"city": "Paris"}}',
        ),
        Field("*", "rest", "Other step settings (JSON)", 12, example="{}"),
        note="Keys of the scenario document that have no field, as JSON.",
    ),
    keys=("name", "turn", "consume", "match", "expect", "failures", "produce", "side_effects"),
)
