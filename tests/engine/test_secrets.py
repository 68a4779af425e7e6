"""Names of secrets, and removal of pieces of secrets from texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine import secrets
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.document import load_match
from scenarios_app.engine.secrets import (
    MIN_SECRET_CHARS,
    is_secret,
    mask,
    secrets_of,
    without_pieces,
)
from tests.engine.match_builders import match_request


def split_words(text: str) -> list[str]:
    return text.split()


# Names that gateways, clouds and frameworks use.
SECRET_NAMES = split_words(
    """
    Authorization Proxy-Authorization X-Api-Key api-key x-goog-api-key Cookie Set-Cookie key apikey
    APIKey api_key apiKey X-Auth-Token X-Auth-Key X-Access-Token access_token accessToken
    refresh_token refreshToken id_token idToken token auth auth_token authtoken X-Amz-Security-Token
    X-Amz-Signature X-Amz-Credential AWSAccessKeyId aws_secret_access_key aws_session_token
    Ocp-Apim-Subscription-Key X-Functions-Key X-Vault-Token X-Gitlab-Token PRIVATE-TOKEN
    Private-Token X-GitHub-Token X-Hub-Signature X-Hub-Signature-256 X-Slack-Signature X-Signature
    signature sig request_sig client_secret clientSecret client-secret secret secretKey
    webhook_secret password Password passwd user_password db.password passphrase credentials
    credential X-Credential session session_id sessionId X-Session-Token X-CSRF-Token X-XSRF-TOKEN
    csrfmiddlewaretoken X-Shopify-Access-Token X-Figma-Token X-Api-Token X-Custom-Auth oauth_token
    oauth_verifier_token oauth_consumer_key OAuth-Token private_key privateKey ssh_key signing_key
    encryption_key X-Encryption-Key hf_token openai_api_key OPENAI_API_KEY anthropic-api-key
    x-portkey-api-key Helicone-Auth X-RapidAPI-Key X-Parse-REST-API-Key Dd-Api-Key
    x-honeycomb-team-key X-N8N-API-KEY authz subscription-key
    """
)
PLAIN_NAMES = split_words(
    """
    model messages content role name type id user stream stop temperature max_tokens maxOutputTokens
    prompt_tokens completion_tokens total_tokens cached_tokens input_tokens Content-Type Accept Host
    User-Agent anthropic-version anthropic-beta OpenAI-Organization keyword keywords keyboard monkey
    author authors authority design designer signal assigned insight tokenizer X-MockLLM-Session
    X-MockLLM-Scenario x-request-id finish_reason index Sec-WebSocket-Key session-id Session-Id
    """
)
SECRET = "sk-ant-0123456789abcdefghij"


def test_there_are_at_least_eighty_secret_names() -> None:
    assert len(set(SECRET_NAMES)) >= 80


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_name_of_a_secret_is_recognised(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_ordinary_name_is_no_secret(name: str) -> None:
    assert not is_secret(name)


@given(
    st.text(max_size=40),
    st.integers(0, len(SECRET) - MIN_SECRET_CHARS),
    st.integers(MIN_SECRET_CHARS, 30),
)
def test_no_eight_characters_of_a_secret_remain(around: str, start: int, length: int) -> None:
    piece = SECRET[start : start + length]
    masked_text = without_pieces(f"{around}{piece}{around}", [SECRET])
    assert not any(
        SECRET[i : i + MIN_SECRET_CHARS] in masked_text
        for i in range(len(SECRET) - MIN_SECRET_CHARS + 1)
    )
    assert masked_text.count("***") >= 1


@pytest.mark.parametrize(
    ("text", "masked_text"),
    [
        ("nothing of it", "nothing of it"),
        (SECRET, "***"),
        (f"a {SECRET} b", "a *** b"),
        (f"{SECRET[:8]}-{SECRET[10:18]}", "***-***"),
        (SECRET[:7], SECRET[:7]),
        (SECRET * 2, "***"),
    ],
)
def test_text_around_pieces_of_a_secret_is_kept(text: str, masked_text: str) -> None:
    assert without_pieces(text, [SECRET]) == masked_text


def test_secrets_of_a_request_are_values_of_secret_names() -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-team": "qa-of-this-house", "x-key": "short"}
    assert secrets_of(headers, {"sig": "0123456789"}) == (SECRET, "0123456789")


def test_each_value_of_a_cookie_is_a_secret() -> None:
    assert secrets_of({"cookie": "a=0123456789; b=9876543210x"}) == ("9876543210x", "0123456789")


def test_a_condition_on_a_secret_header_gives_no_groups() -> None:
    headers = {"authorization": {"regex": "(?P<a>.{8})"}, "x-team": {"regex": "(?P<b>q.)"}}
    match = load_match({"headers": headers})
    request = CanonicalRequest(
        provider="openai",
        path="/",
        route="/",
        model="m",
        headers={"authorization": SECRET, "x-team": "qa"},
    )
    result = match_request(match, request)
    assert (result.matched, result.groups) == (True, {"b": "qa"})
    assert match.group_names == ("b",)


@pytest.mark.parametrize(
    ("secret", "masked"),
    [("Bearer 0123456789ab", "Bearer ***89ab"), ("0123456789ab", "***89ab"), ("short", "***")],
)
def test_mask_shows_the_end_of_a_long_secret(secret: str, masked: str) -> None:
    assert mask(secret) == masked


def test_declared_name_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_declared", set())
    assert not is_secret("X-Acme")
    secrets.declare_secret_names(["X-Acme"])
    assert is_secret("x-acme") and is_secret("X-ACME")
    assert secrets.key_names() == {"xacme"}
    is_secret.cache_clear()
    secrets.key_names.cache_clear()
