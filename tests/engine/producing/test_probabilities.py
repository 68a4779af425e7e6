"""What stands beside a token as likely in its place."""

from itertools import pairwise

from scenarios_app.engine.producing.usage import Token, split_tokens, top_tokens

HELLO, WORLD = split_tokens("Hello world")


def test_a_token_is_the_likeliest_in_its_place_and_each_other_one_less_likely() -> None:
    found = top_tokens(HELLO, 20)
    assert found[0] == HELLO and len(found) == 20
    texts = [token.text for token in found]
    assert len(set(texts)) == 20
    steps = [round(one.logprob - other.logprob, 6) for one, other in pairwise(found)]
    assert steps == [0.75] * 19


def test_there_are_as_many_as_were_asked_for() -> None:
    assert [top_tokens(HELLO, count) for count in (0, 1)] == [(), (HELLO,)]
    assert top_tokens(HELLO, 3) == top_tokens(HELLO, 20)[:3]


def test_other_tokens_have_others_beside_them() -> None:
    beside = [[token.text for token in top_tokens(one, 5)[1:]] for one in (HELLO, WORLD)]
    assert beside[0] != beside[1]


def test_a_token_does_not_stand_beside_itself() -> None:
    the = split_tokens("a the")[1]
    assert " the" not in [token.text for token in top_tokens(the, 20)[1:]]


def test_how_likely_is_told_to_six_places() -> None:
    token = Token(" the", -0.1234567)
    assert [other.logprob for other in top_tokens(token, 3)[1:]] == [-0.873457, -1.623457]
