"""The builder's final report, alone and with other parts of an answer."""

from typing import Any

from scenarios_app.builder import ScenarioBuilder, scenario
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.scenario import ScriptedAnswer

S = scenario("s")


def produce(builder: ScenarioBuilder) -> Any:
    document: Any = builder.build()
    (step,) = document["steps"]
    return step["produce"]


def arguments(builder: ScenarioBuilder) -> list[str]:
    (document,) = load_documents(builder.build())
    answer = compile_scenario(document).steps[0].produce.streaming
    assert isinstance(answer, ScriptedAnswer)
    return [getattr(part, "arguments", "") for part in answer.choices[0].parts]


def test_a_report_is_a_key_of_the_answer() -> None:
    scenario_builder = S.respond_with_text("Here.").respond_with_final_report("# Done")
    assert produce(scenario_builder) == {
        "text": "Here.",
        "final_report": {"report_format": "markdown", "report_content": "# Done"},
    }


def test_every_key_of_a_report_can_be_set() -> None:
    scenario_builder = S.respond_with_final_report(
        "x", format="json", status="failure", content_json={"a": 1}, messages=["m"]
    )
    assert produce(scenario_builder)["final_report"] == {
        "status": "failure",
        "report_format": "json",
        "report_content": "x",
        "content_json": {"a": 1},
        "messages": ["m"],
    }


def test_report_before_the_answer_keeps_its_position() -> None:
    report_first = S.respond_with_final_report("x").respond_with_text("Afterwards.")
    assert produce(report_first) == {
        "parts": [
            {
                "tool_call": {
                    "id": "agent-final-report",
                    "name": "agent__final_report",
                    "arguments": {
                        "status": "success",
                        "report_format": "markdown",
                        "report_content": "x",
                    },
                }
            },
            {"text": "Afterwards."},
        ]
    }
    report_last = S.respond_with_text("Before.").respond_with_final_report("x")
    assert arguments(report_first)[0] == arguments(report_last)[1]


def test_then_after_a_report_begins_the_next_step() -> None:
    scenario_builder = (
        S.respond_with_final_report("x").then().with_messages("again").respond_with_text("y")
    )
    document: Any = scenario_builder.build()
    assert len(document["steps"]) == 2
