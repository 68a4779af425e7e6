"""Eighty names of secrets in every place where a request can have one, and an editor who wants the
secrets of those who send them: none is to be found afterwards, neither whole nor in pieces."""

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
from tests.conftest import forget
from tests.control.control_client import Control, chat, says, scenario
from tests.engine.test_secrets import SECRET_NAMES
from tests.hostile.shown import everything_kept, everything_shown, sent

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


PLACES: tuple[Callable[[str, str], Any], ...] = (
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
    forget()


def test_a_secret_under_any_of_eighty_names_is_found_nowhere(
    control: Control, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    control.post("scenarios", scenario("answers", says("Hi.", consume=False)))
    sent_under: dict[str, str] = {}
    doors = cycle([False, False, True])
    for number, (name, place) in enumerate(product(SECRET_NAMES, PLACES)):
        secret = f"canary{number:05}-{number * 7919 % 100_003:06}-tail"
        sent_under[secret] = f"{place.__name__}: {name}"
        sent(*place(name, secret), through_django=next(doors))
    texts = {
        "journal": everything_kept(),
        "answers": everything_shown(control, []),
        "log": caplog.text,
    }
    for where, text in texts.items():
        found = {under for secret, under in sent_under.items() if secret[:-4] in text}
        assert found == set(), where


def nosy(headers: dict[str, Any], text: str, **effects: Any) -> dict[str, Any]:
    return scenario(
        "nosy", {**says(text, match={"headers": headers}, consume=False), "side_effects": effects}
    )


SECRET = "sk-live-Zx81kQpW93mNvB47"
HEADERS = {"authorization": f"Bearer {SECRET}", "x-team": f"qa {SECRET}", "cookie": f"sid={SECRET}"}
GROUPS = ".*?(?P<a>sk.{6})(?P<b>.{8})(?P<c>.{8})"


def asked(text: str = "Hello") -> Any:
    with httpx2.Client(transport=SyncMockTransport(), base_url="http://mock") as client:
        body = {**OPENAI, "messages": [{"role": "user", "content": text}]}
        return client.post(CHAT, json=body, headers=HEADERS)


def assert_none_of_it(text: str) -> None:
    pieces = {SECRET[i : i + PIECE] for i in range(len(SECRET) - PIECE + 1)}
    assert not {piece for piece in pieces if piece in text}, text


@pytest.mark.parametrize("header", ["authorization", "cookie", "Authorization"])
def test_a_condition_on_a_secret_gives_no_groups(control: Control, header: str) -> None:
    wanted = nosy({header: {"regex": GROUPS}}, "{{ match.a }} {{ match.b }} {{ match.c }}")
    response = control.post("scenarios", wanted)
    assert response.status_code == 400
    assert response.json()["field"] == "steps[0].produce.text"
    assert "match.a" in response.json()["message"]
    # Without templates it matches like any other condition.
    assert control.post("scenarios", nosy({header: {"regex": GROUPS}}, "yes")).status_code == 201
    assert asked().json()["choices"][0]["message"]["content"] == "yes"


def test_captures_of_other_conditions_hold_no_part_of_a_secret(control: Control) -> None:
    text = "{{ match.a }}|{{ match.b }}|{{ match.c }}"
    control.post("scenarios", nosy({"x-team": {"regex": GROUPS}}, text))
    answer = asked()
    assert answer.json()["choices"][0]["message"]["content"] == "***|***|***"
    assert_none_of_it(answer.text + everything_kept())


def test_captured_user_text_holds_no_part_of_a_secret(control: Control) -> None:
    match = {"messages": [{"role": "user", "regex": GROUPS}]}
    step = says("{{ match.a }}-{{ match.b }}-{{ match.c }}", match=match, consume=False)
    control.post("scenarios", scenario("nosy", step))
    answer = asked(f"my key is {SECRET}")
    assert_none_of_it(answer.text + everything_kept())


def test_echoes_tell_no_secret(control: Control) -> None:
    names = ["authorization", "cookie", "x-team", "x-plain"]
    control.post("scenarios", nosy({}, "Hi.", echo_headers=names))
    answer = asked()
    assert answer.headers["authorization"] == "Bearer ***vB47"
    assert answer.headers["x-team"] == "qa ***"
    assert_none_of_it(str(answer.headers) + everything_kept())


def test_probes_tell_no_secret(control: Control) -> None:
    block = {"id_message": "", "messages": [{"request_headers_echo": {}}]}
    answer = asked(f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>")
    assert answer.status_code == 200
    assert_none_of_it(answer.text + everything_kept())


def test_verify_says_what_it_cannot_tell_of_masked_values(control: Control) -> None:
    control.post("scenarios", scenario("answers", says("Hi.", consume=False)))
    chat(metadata={"session_id": "0123456789abcdef", "team": "qa"})
    asked_for = {"metadata": {"session_id": "0123456789abcdef"}}
    told = control.post(
        "verify", {"match": asked_for, "count": {"equals": 1}, "session": "sk-of-this-test"}
    )
    assert "masks values in its body" in told.content.decode()
    plain = {"metadata": {"team": "other"}}
    told = control.post(
        "verify", {"match": plain, "count": {"equals": 0}, "session": "sk-of-this-test"}
    )
    assert told.json()["passed"] is True
