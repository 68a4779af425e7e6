"""How many tokens a prompt is taken for."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from chat_app.prompt import tokens
from chat_app.values.events import ToolCall
from chat_app.values.request import (
    AssistantTurn,
    Result,
    Text,
    Thinking,
    Tool,
    ToolResults,
    UserTurn,
)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    tokens._exact.cache_clear()
    yield
    tokens._exact.cache_clear()


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those that were loaded of a stand-in, which makes a token of every word."""
    loaded: list[str] = []

    def from_pretrained(name: str) -> SimpleNamespace:
        loaded.append(name)
        return SimpleNamespace(encode=lambda text: text.encode().split())

    module = ModuleType("splintr")
    module.Tokenizer = SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "splintr", module)
    return loaded


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], 0),
        ([""], 0),
        (["a"], 1),
        (["abcd"], 1),
        (["abcde"], 2),
        (["ab", "cd"], 1),
        (["日本語"], 1),
    ],
)
def test_the_estimate_is_a_token_for_four_characters(texts: list[str], expected: int) -> None:
    assert tokens.estimate(texts) == expected


def test_every_text_that_is_sent_is_counted() -> None:
    turns = (
        UserTurn("question"),
        AssistantTurn((Thinking("hmm", "sig", "c2Vj"), Text("I look."), ToolCall("a", "f", "{}"))),
        ToolResults((Result("a", "f", "one"), Result("b", "g", "two"))),
    )
    tool = Tool("f", "does it", {"type": "object", "title": "é"})
    assert list(tokens.texts_of("be kind", [tool], turns)) == [
        *("be kind", "f", "does it", '{"type":"object","title":"é"}'),
        *("question", "hmm", "I look.", "f", "{}", "one", "two"),
    ]


def test_without_the_extra_everything_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert tokens.counter("gpt-4o") is tokens.estimate


@pytest.mark.parametrize("model", ["claude-opus-4", "gemini-2.5-pro", "greeting", "", "my-gpt-4o"])
def test_a_model_whose_vocabulary_is_not_known_is_estimated(
    model: str, vocabularies: list[str]
) -> None:
    assert tokens.counter(model) is tokens.estimate
    assert vocabularies == []


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
    ],
)
def test_a_vocabulary_is_loaded_once_and_counts(
    model: str, vocabulary: str, vocabularies: list[str]
) -> None:
    assert tokens.counter(model)(["two words", "three more words"]) == 5
    assert tokens.counter(model)([]) == 0
    assert vocabularies == [vocabulary]


def test_what_no_vocabulary_takes_is_left_out(vocabularies: list[str]) -> None:
    assert tokens.counter("gpt-4o")(["a \ud800 b"]) == 2


def test_the_real_vocabularies_count() -> None:
    pytest.importorskip("splintr", reason="the extra `tokens` is not installed")
    assert tokens.counter("gpt-4o")(["hello world", "Hello, wörld 日本語"]) == 2 + 7
    assert tokens.counter("gpt-4")(["hello world", "Hello, wörld 日本語"]) == 2 + 9
    assert tokens.counter("gpt-4o")(["<|endoftext|>", ""]) > 0
