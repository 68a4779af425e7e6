"""Each tool does what the same call of the REST API does, and returns it in pages and parts."""

from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.state import key_session
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.services import services
from tests.control.control_client import Control, chat, reply_text, scenario, text_step
from tests.control.mcp.tool_caller import ToolCaller, listed_tools

pytestmark = pytest.mark.django_db
READING = {"list_scenarios", "read_scenario", "check", "play", "unmatched", "requests"}
READING |= {"read_request", "explain", "verdict", "coverage", "drift"}
DESTRUCTIVE = {"change_scenario", "delete_scenario", "reset", "start_recording", "stop_recording"}
ADDING = {"add_scenario", "make_step"}
# Tools that name a request by its id, or concern every session.
WITHOUT_SESSION = {"read_request", "explain", "coverage", "drift"}


@pytest.fixture
def upstreams() -> Iterator[None]:
    """Configure an upstream; no test sends it a request."""
    pipeline = services().pipeline
    pipeline.options.upstreams.update({"openai": "http://127.0.0.1:1"})
    yield
    pipeline.options.upstreams.pop("openai")
    pipeline.recordings.clear()
    services().drifts.clear()


def test_every_tool_has_the_right_hints() -> None:
    hints = {name: tool["annotations"] for name, tool in listed_tools().items()}
    assert {name for name, hint in hints.items() if hint.get("readOnlyHint")} == READING
    assert {name for name, hint in hints.items() if hint.get("destructiveHint")} == DESTRUCTIVE
    assert {name for name, hint in hints.items() if hint.get("destructiveHint") is False} == ADDING
    assert {name for name, hint in hints.items() if hint["openWorldHint"]} == {"start_recording"}
    assert {name for name, hint in hints.items() if hint.get("idempotentHint")} == {
        "change_scenario",
        "delete_scenario",
        "reset",
    }


def test_every_tool_has_strict_schemas_and_described_arguments() -> None:
    for name, tool in listed_tools().items():
        assert 10 < len(tool["description"]) < 320, name
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object" and schema["additionalProperties"] is False
        for field, field_schema in tool["inputSchema"]["properties"].items():
            assert len(field_schema["description"]) > 5, (name, field)
    tools_without_session = {
        name
        for name, tool in listed_tools().items()
        if "session" not in tool["inputSchema"]["properties"]
    }
    assert tools_without_session == WITHOUT_SESSION


def test_tool_list_fits_into_an_agent_s_context(tools: ToolCaller) -> None:
    assert len(tools.send("tools/list").content) < 32_000


def test_scenarios_are_listed_in_pages(tools: ToolCaller) -> None:
    for name in ("a", "b", "c"):
        tools.call("add_scenario", document=scenario(name, description=f"about {name}"))
    first_page = tools.call("list_scenarios", limit=2)
    assert [line["name"] for line in first_page["scenarios"]] == ["a", "b"]
    assert first_page["scenarios"][0] == {
        "name": "a",
        "description": "about a",
        "enabled": True,
        "select": "match",
        "priority": 0,
        "steps": 1,
    }
    last_page = tools.call("list_scenarios", limit=2, after=first_page["next"])
    assert [line["name"] for line in last_page["scenarios"]] == ["c"] and last_page["next"] is None


def test_long_scenario_is_read_in_parts(tools: ToolCaller) -> None:
    document = scenario("long", *(text_step("x" * 15_000) for _ in range(5)))
    tools.call("add_scenario", document=document)
    steps, first = [], 1
    while first is not None:
        page = tools.call("read_scenario", name="long", first_step=first)
        steps += page["scenario"]["steps"]
        assert page["steps"] == 5 and len(page["scenario"]["steps"]) <= 2
        first = page["next_step"]
    assert steps == document["steps"]


def test_scenario_is_changed_and_deleted(tools: ToolCaller, control: Control) -> None:
    tools.call("change_scenario", name="a", document=scenario("a"))
    tools.call("change_scenario", name="a", document=scenario("a", text_step("new")))
    assert control.get("scenarios/a").json() == tools.call("read_scenario", name="a")["scenario"]
    assert reply_text(chat()) == "new"
    tools.call("delete_scenario", name="a")
    assert control.get("scenarios/a").status_code == 404


def test_check_finds_mistakes_and_steps_that_never_answer(tools: ToolCaller) -> None:
    invalid_result = tools.call(
        "check", document={"name": "a", "steps": [{"produce": {"txt": "x"}}]}
    )
    assert not invalid_result["valid"] and invalid_result["problems"][0].startswith(
        "steps[0].produce.txt"
    )
    shadowed = scenario("a", text_step("1", consume=False), text_step("2", consume=False))
    check_result = tools.call("check", document=shadowed)
    assert check_result["valid"] and "shadowed" in {
        warning["kind"] for warning in check_result["warnings"]
    }
    assert tools.call("check")["warnings"] == []
    tools.call("add_scenario", document=shadowed)
    assert tools.call("check")["warnings"] == check_result["warnings"]
    tools.call("delete_scenario", name="a")
    tools.call("add_scenario", document=shadowed, session="s")
    assert tools.call("check")["warnings"] == []
    assert tools.call("check", session="s")["warnings"] == check_result["warnings"]


def test_conversation_is_played_without_consuming_a_step(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", text_step("Hi!")))
    assert tools.call("play", scenario="a")["passed"]
    turns = [{"user": "hello", "expect": {"text": "Hi!"}}, {"user": "again"}]
    play_result = tools.call("play", conversation={"turns": turns})
    first, second = play_result["conversations"][0]["turns"]
    assert (first["passed"], second["passed"], play_result["passed"]) == (True, False, False)
    assert reply_text(chat()) == "Hi!"
    tools.call("add_scenario", document=scenario("own"), session="s")
    assert tools.call("play", scenario="own", session="s")["passed"]
    assert tools.error("play", scenario="own") == "There is no scenario “own”."


def test_long_body_is_read_in_parts_and_its_key_stays_masked(tools: ToolCaller) -> None:
    text = "0123456789" * 400
    chat(text, key="sk-secret-of-this-test")
    (line,) = tools.call("unmatched")["requests"]
    body, offset = "", 0
    while True:
        page = tools.call("read_request", request=line["id"], offset=offset, limit=1_500)
        part = page["request"]["body"]
        if not part:
            break
        assert len(part) <= 1_500
        body, offset = body + part, offset + len(part)
    assert text in body and page["request"]["bytes"] == len(body)
    assert "sk-secret-of-this-test" not in str(page)


def test_requests_are_listed_in_pages_and_by_filter(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", text_step("Hi!")))
    for _ in range(3):
        chat()
    first_page = tools.call("requests", limit=2)
    last_page = tools.call("requests", limit=2, after=first_page["next"])
    assert (len(first_page["requests"]), len(last_page["requests"]), last_page["next"]) == (
        2,
        1,
        None,
    )
    assert len(tools.call("requests", matched=True)["requests"]) == 1
    assert len(tools.call("unmatched")["requests"]) == 2


def test_request_is_explained_by_path_and_body(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", text_step("Hi!" * 2_000)))
    request_body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    headers = {"authorization": "Bearer k"}
    path = "/v1/chat/completions"
    explanation = tools.call("explain", path=path, headers=headers, body=request_body)
    assert explanation["winner"] == {"scenario": "a", "step": "1"}
    assert len(explanation["sent"]["body"]) == 2_000
    last_part = tools.call("explain", path=path, headers=headers, body=request_body, offset=6_000)
    assert last_part["sent"]["body"].endswith("}")


def test_verdict_and_coverage_are_limited(tools: ToolCaller) -> None:
    for name in ("a", "b", "c"):
        tools.call("add_scenario", document=scenario(name))
    verdict = tools.call("verdict", session="s", scenarios="*", limit=2)
    assert not verdict["passed"] and len(verdict["unserved"]) == 2 and verdict["left_out"] == 1
    coverage = tools.call("coverage", limit=1)
    assert len(coverage["scenarios"]) == 1 and coverage["left_out"] == 2 and coverage["steps"] == 3


def test_long_text_in_a_result_is_cut(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", description="x" * 3_000))
    (line,) = tools.call("list_scenarios")["scenarios"]
    assert line["description"] == "x" * 2_000 + "… [cut, 3,000 characters]"


def test_recording_is_stored_as_a_scenario(tools: ToolCaller, upstreams: None) -> None:
    assert tools.call("start_recording", name="kept")["mode"] == "new"
    recording = services().pipeline.recordings[None]
    request = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    recorded_request = RecordedRequest(
        "POST", "/v1/chat/completions", body=str(request).replace("'", '"').encode()
    )
    recorded_response = RecordedResponse(
        200, (("content-type", "application/json"),), ((1.0, b"{}"),)
    )
    recording.end(recording.begin(), Interaction(recorded_request, recorded_response))
    stop_result = tools.call("stop_recording")
    assert stop_result["document"]["name"] == "kept" and "steps" not in stop_result["document"]
    assert tools.call("read_scenario", name="kept")["steps"] == 1
    assert tools.error("stop_recording") == "There is no recording of all sessions."


def test_drift_of_a_replay_is_listed(tools: ToolCaller, upstreams: None) -> None:
    tools.call("start_recording", mode="none", name="replayed", session="s")
    assert tools.call("stop_recording", session="s")["document"] is None
    (report,) = tools.call("drift")["recordings"]
    assert report["session"] == key_session("s") and not report["drifted"]


def test_reset_forgets_the_session_and_its_own_scenarios(tools: ToolCaller) -> None:
    chat(headers={"x-mockllm-session": "s"})
    chat(headers={"x-mockllm-session": "other"})
    tools.call("add_scenario", document=scenario("own"), session="s")
    assert tools.call("reset", session="s", scenarios=True) == {"session": "s"}
    assert tools.call("list_scenarios", session="s")["scenarios"] == []
    assert [line["session"] for line in tools.call("requests")["requests"]] == ["other"]
