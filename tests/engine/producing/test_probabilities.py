"""The alternative tokens of a token, and their log probabilities."""

from itertools import pairwise

from scenarios_app.engine.producing.usage import Token, split_tokens, top_tokens

HELLO, WORLD = split_tokens("Hello world")


def test_token_is_the_most_likely_and_alternatives_are_less_likely() -> None:
    tokens = top_tokens(HELLO, 20)
    assert tokens[0] == HELLO and len(tokens) == 20
    texts = [token.text for token in tokens]
    assert len(set(texts)) == 20
    logprob_steps = [
        round(token.logprob - next_token.logprob, 6) for token, next_token in pairwise(tokens)
    ]
    assert logprob_steps == [0.75] * 19


def test_requested_number_of_tokens_is_returned() -> None:
    assert [top_tokens(HELLO, count) for count in (0, 1)] == [(), (HELLO,)]
    assert top_tokens(HELLO, 3) == top_tokens(HELLO, 20)[:3]


def test_different_tokens_have_different_alternatives() -> None:
    alternatives = [[token.text for token in top_tokens(token, 5)[1:]] for token in (HELLO, WORLD)]
    assert alternatives[0] != alternatives[1]


def test_token_is_not_its_own_alternative() -> None:
    the_token = split_tokens("a the")[1]
    assert " the" not in [token.text for token in top_tokens(the_token, 20)[1:]]


def test_log_probability_has_six_decimal_places() -> None:
    token = Token(" the", -0.1234567)
    assert [alternative.logprob for alternative in top_tokens(token, 3)[1:]] == [
        -0.873457,
        -1.623457,
    ]
