"""Each tool does what the same call of the REST API does, and returns it in pages and parts."""

from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.state import key_session
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.services import services
from tests.control.control_client import Control, chat, reply_text, says, scenario
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
    """An upstream that no test here asks."""
    pipeline = services().pipeline
    pipeline.options.upstreams.update({"openai": "http://127.0.0.1:1"})  # type: ignore[attr-defined]
    yield
    pipeline.options.upstreams.pop("openai")  # type: ignore[attr-defined]
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
        for field, one in tool["inputSchema"]["properties"].items():
            assert len(one["description"]) > 5, (name, field)
    without = {
        n
        for n, tool in listed_tools().items()
        if "session" not in tool["inputSchema"]["properties"]
    }
    assert without == WITHOUT_SESSION


def test_tool_list_fits_into_an_agent_s_context(tools: ToolCaller) -> None:
    assert len(tools.send("tools/list").content) < 32_000


def test_scenarios_are_listed_in_pages(tools: ToolCaller) -> None:
    for name in ("a", "b", "c"):
        tools.call("add_scenario", document=scenario(name, description=f"about {name}"))
    first = tools.call("list_scenarios", limit=2)
    assert [line["name"] for line in first["scenarios"]] == ["a", "b"]
    assert first["scenarios"][0] == {
        "name": "a",
        "description": "about a",
        "enabled": True,
        "select": "match",
        "priority": 0,
        "steps": 1,
    }
    last = tools.call("list_scenarios", limit=2, after=first["next"])
    assert [line["name"] for line in last["scenarios"]] == ["c"] and last["next"] is None


def test_long_scenario_is_read_in_parts(tools: ToolCaller) -> None:
    document = scenario("long", *(says("x" * 15_000) for _ in range(5)))
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
    tools.call("change_scenario", name="a", document=scenario("a", says("new")))
    assert control.get("scenarios/a").json() == tools.call("read_scenario", name="a")["scenario"]
    assert reply_text(chat()) == "new"
    tools.call("delete_scenario", name="a")
    assert control.get("scenarios/a").status_code == 404


def test_check_finds_mistakes_and_steps_that_never_answer(tools: ToolCaller) -> None:
    invalid = tools.call("check", document={"name": "a", "steps": [{"produce": {"txt": "x"}}]})
    assert not invalid["valid"] and invalid["problems"][0].startswith("steps[0].produce.txt")
    shadowed = scenario("a", says("1", consume=False), says("2", consume=False))
    before = tools.call("check", document=shadowed)
    assert before["valid"] and "shadowed" in {one["kind"] for one in before["warnings"]}
    assert tools.call("check")["warnings"] == []
    tools.call("add_scenario", document=shadowed)
    assert tools.call("check")["warnings"] == before["warnings"]
    tools.call("delete_scenario", name="a")
    tools.call("add_scenario", document=shadowed, session="s")
    assert tools.call("check")["warnings"] == []
    assert tools.call("check", session="s")["warnings"] == before["warnings"]


def test_conversation_is_played_without_consuming_a_step(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", says("Hi!")))
    assert tools.call("play", scenario="a")["passed"]
    turns = [{"user": "hello", "expect": {"text": "Hi!"}}, {"user": "again"}]
    played = tools.call("play", conversation={"turns": turns})
    first, second = played["conversations"][0]["turns"]
    assert (first["passed"], second["passed"], played["passed"]) == (True, False, False)
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
    tools.call("add_scenario", document=scenario("a", says("Hi!")))
    for _ in range(3):
        chat()
    first = tools.call("requests", limit=2)
    last = tools.call("requests", limit=2, after=first["next"])
    assert (len(first["requests"]), len(last["requests"]), last["next"]) == (2, 1, None)
    assert len(tools.call("requests", matched=True)["requests"]) == 1
    assert len(tools.call("unmatched")["requests"]) == 2


def test_request_is_explained_by_path_and_body(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", says("Hi!" * 2_000)))
    sent = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    headers = {"authorization": "Bearer k"}
    path = "/v1/chat/completions"
    explained = tools.call("explain", path=path, headers=headers, body=sent)
    assert explained["winner"] == {"scenario": "a", "step": "1"}
    assert len(explained["sent"]["body"]) == 2_000
    end = tools.call("explain", path=path, headers=headers, body=sent, offset=6_000)
    assert end["sent"]["body"].endswith("}")


def test_verdict_and_coverage_are_limited(tools: ToolCaller) -> None:
    for name in ("a", "b", "c"):
        tools.call("add_scenario", document=scenario(name))
    judged = tools.call("verdict", session="s", scenarios="*", limit=2)
    assert not judged["passed"] and len(judged["unserved"]) == 2 and judged["left_out"] == 1
    covered = tools.call("coverage", limit=1)
    assert len(covered["scenarios"]) == 1 and covered["left_out"] == 2 and covered["steps"] == 3


def test_long_text_in_a_result_is_cut(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a", description="x" * 3_000))
    (line,) = tools.call("list_scenarios")["scenarios"]
    assert line["description"] == "x" * 2_000 + "… [cut, 3,000 characters]"


def test_recording_is_stored_as_a_scenario(tools: ToolCaller, upstreams: None) -> None:
    assert tools.call("start_recording", name="kept")["mode"] == "new"
    recording = services().pipeline.recordings[None]
    request = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    sent = RecordedRequest(
        "POST", "/v1/chat/completions", body=str(request).replace("'", '"').encode()
    )
    answer = RecordedResponse(200, (("content-type", "application/json"),), ((1.0, b"{}"),))
    recording.end(recording.begin(), Interaction(sent, answer))
    ended = tools.call("stop_recording")
    assert ended["document"]["name"] == "kept" and "steps" not in ended["document"]
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
