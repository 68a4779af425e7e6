"""The dict with a maximum size."""

from mockllm_site.kit.bounded_dict import BoundedDict


def test_bounded_dict_evicts_the_oldest_key() -> None:
    bounded = BoundedDict[str, int](2)
    bounded["a"], bounded["b"], bounded["c"] = 1, 2, 3
    assert dict(bounded) == {"b": 2, "c": 3}


def test_set_key_of_a_bounded_dict_becomes_the_newest() -> None:
    bounded = BoundedDict[str, int](2)
    bounded["a"], bounded["b"], bounded["a"], bounded["c"] = 1, 2, 3, 4
    assert list(bounded.items()) == [("a", 3), ("c", 4)]


def test_read_key_of_a_bounded_dict_keeps_its_place() -> None:
    bounded = BoundedDict[str, int](2)
    bounded["a"], bounded["b"] = 1, 2
    assert bounded["a"] == bounded.get("a") == 1
    bounded["c"] = 3
    assert list(bounded) == ["b", "c"]
