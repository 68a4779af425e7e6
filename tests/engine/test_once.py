"""Properties that are worked out once."""

from scenarios_app.engine.canonical import lazy_property


class Counting:
    def __init__(self) -> None:
        self.times = 0

    @lazy_property
    def doubled(self) -> int:
        """Twice as many times."""
        self.times += 1
        return 2 * self.times


def test_lazy_property_is_computed_on_first_use_only() -> None:
    one, other = Counting(), Counting()
    assert one.times == 0
    assert (one.doubled, one.doubled, one.times) == (2, 2, 1)
    assert other.times == 0


def test_its_class_has_it_with_its_words() -> None:
    assert isinstance(Counting.doubled, lazy_property)
    assert Counting.doubled.__doc__ == "Twice as many times."
