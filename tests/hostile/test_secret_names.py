"""Secrets under eighty names stay out of journal, API and log, and scripts cannot reveal them."""

import json
import logging
from collections.abc import Callable, Iterator
from itertools import cycle, product
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.serving.sync_transport import SyncMockTransport
from tests.conftest import reset_server_state
from tests.control.control_client import Control, chat, scenario, text_step
from tests.engine.test_secrets import SECRET_NAMES
from tests.hostile.exposure import read_control_api, read_journal, send_request

CHAT = "/v1/chat/completions"
OPENAI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
KEY = {"authorization": "Bearer sk-any"}
PIECE = 8


def in_header(name: str, secret: str) -> Any:
    return CHAT, OPENAI, {**KEY, name.replace(".", "-"): secret}


def in_query(name: str, secret: str) -> Any:
    return f"{CHAT}?alt=sse&{quote(name)}={quote(secret)}", OPENAI, KEY


def in_body(name: str, secret: str) -> Any:
    return CHAT, {**OPENAI, name: secret}, KEY


def in_metadata(name: str, secret: str) -> Any:
    return CHAT, {**OPENAI, "metadata": {name: secret}}, KEY


def in_arguments(name: str, secret: str) -> Any:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"deep": {name: secret}})},
    }
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps({name: [secret]})},
    ]
    return CHAT, {**OPENAI, "messages": messages}, KEY


def nowhere(name: str, secret: str) -> Any:
    return (
        f"/v1/nowhere?{quote(name)}={quote(secret)}",
        {name: secret},
        {**KEY, "x-api-key": secret},
    )


REQUEST_BUILDERS: tuple[Callable[[str, str], Any], ...] = (
    in_header,
    in_query,
    in_body,
    in_metadata,
    in_arguments,
    nowhere,
)


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    yield Control()
    reset_server_state()


def test_secret_under_any_of_eighty_names_appears_nowhere(
    control: Control, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    control.post("scenarios", scenario("answers", text_step("Hi.", consume=False)))
    place_names: dict[str, str] = {}
    through_django = cycle([False, False, True])
    for number, (name, build) in enumerate(product(SECRET_NAMES, REQUEST_BUILDERS)):
        secret = f"canary{number:05}-{number * 7919 % 100_003:06}-tail"
        place_names[secret] = f"{build.__name__}: {name}"
        send_request(*build(name, secret), through_django=next(through_django))
    texts = {
        "journal": read_journal(),
        "answers": read_control_api(control, []),
        "log": caplog.text,
    }
    for source, text in texts.items():
        leaks = {place_name for secret, place_name in place_names.items() if secret[:-4] in text}
        assert leaks == set(), source


def nosy_scenario(headers: dict[str, Any], text: str, **effects: Any) -> dict[str, Any]:
    return scenario(
        "nosy",
        {**text_step(text, match={"headers": headers}, consume=False), "side_effects": effects},
    )


SECRET = "sk-live-Zx81kQpW93mNvB47"
HEADERS = {"authorization": f"Bearer {SECRET}", "x-team": f"qa {SECRET}", "cookie": f"sid={SECRET}"}
GROUPS = ".*?(?P<a>sk.{6})(?P<b>.{8})(?P<c>.{8})"


def send_chat(text: str = "Hello") -> Any:
    with httpx2.Client(transport=SyncMockTransport(), base_url="http://mock") as client:
        body = {**OPENAI, "messages": [{"role": "user", "content": text}]}
        return client.post(CHAT, json=body, headers=HEADERS)


def assert_no_part_of_secret(text: str) -> None:
    pieces = {SECRET[i : i + PIECE] for i in range(len(SECRET) - PIECE + 1)}
    assert not {piece for piece in pieces if piece in text}, text


@pytest.mark.parametrize("header", ["authorization", "cookie", "Authorization"])
def test_a_condition_on_a_secret_gives_no_groups(control: Control, header: str) -> None:
    document = nosy_scenario(
        {header: {"regex": GROUPS}}, "{{ match.a }} {{ match.b }} {{ match.c }}"
    )
    response = control.post("scenarios", document)
    assert response.status_code == 400
    assert response.json()["field"] == "steps[0].produce.text"
    assert "match.a" in response.json()["message"]
    # Without templates it matches like any other condition.
    assert (
        control.post("scenarios", nosy_scenario({header: {"regex": GROUPS}}, "yes")).status_code
        == 201
    )
    assert send_chat().json()["choices"][0]["message"]["content"] == "yes"


def test_captures_of_other_conditions_hold_no_part_of_a_secret(control: Control) -> None:
    text = "{{ match.a }}|{{ match.b }}|{{ match.c }}"
    control.post("scenarios", nosy_scenario({"x-team": {"regex": GROUPS}}, text))
    answer = send_chat()
    assert answer.json()["choices"][0]["message"]["content"] == "***|***|***"
    assert_no_part_of_secret(answer.text + read_journal())


def test_captured_user_text_holds_no_part_of_a_secret(control: Control) -> None:
    match = {"messages": [{"role": "user", "regex": GROUPS}]}
    step = text_step("{{ match.a }}-{{ match.b }}-{{ match.c }}", match=match, consume=False)
    control.post("scenarios", scenario("nosy", step))
    answer = send_chat(f"my key is {SECRET}")
    assert_no_part_of_secret(answer.text + read_journal())


def test_echoed_headers_contain_no_secret(control: Control) -> None:
    names = ["authorization", "cookie", "x-team", "x-plain"]
    control.post("scenarios", nosy_scenario({}, "Hi.", echo_headers=names))
    answer = send_chat()
    assert answer.headers["authorization"] == "Bearer ***vB47"
    assert answer.headers["x-team"] == "qa ***"
    assert_no_part_of_secret(str(answer.headers) + read_journal())


def test_header_probes_contain_no_secret(control: Control) -> None:
    block = {"id_message": "", "messages": [{"request_headers_echo": {}}]}
    answer = send_chat(f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>")
    assert answer.status_code == 200
    assert_no_part_of_secret(answer.text + read_journal())


def test_verify_reports_conditions_on_masked_values(control: Control) -> None:
    control.post("scenarios", scenario("answers", text_step("Hi.", consume=False)))
    chat(metadata={"session_id": "0123456789abcdef", "team": "qa"})
    masked_match = {"metadata": {"session_id": "0123456789abcdef"}}
    response = control.post(
        "verify", {"match": masked_match, "count": {"equals": 1}, "session": "sk-of-this-test"}
    )
    assert "masks values in its body" in response.content.decode()
    plain_match = {"metadata": {"team": "other"}}
    response = control.post(
        "verify", {"match": plain_match, "count": {"equals": 0}, "session": "sk-of-this-test"}
    )
    assert response.json()["passed"] is True
