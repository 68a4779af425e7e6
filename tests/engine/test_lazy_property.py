"""`lazy_property`."""

from scenarios_app.engine.canonical import lazy_property


class CountingObject:
    def __init__(self) -> None:
        self.times = 0

    @lazy_property
    def doubled(self) -> int:
        """Twice as many times."""
        self.times += 1
        return 2 * self.times


def test_lazy_property_is_computed_on_first_use_only() -> None:
    first, second = CountingObject(), CountingObject()
    assert first.times == 0
    assert (first.doubled, first.doubled, first.times) == (2, 2, 1)
    assert second.times == 0


def test_lazy_property_of_the_class_has_its_docstring() -> None:
    assert isinstance(CountingObject.doubled, lazy_property)
    assert CountingObject.doubled.__doc__ == "Twice as many times."
