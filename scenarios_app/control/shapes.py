"""Shapes that several routes of the control API have."""

from mockllm_site.api.shapes import Shape, Text


class SessionQuery(Shape):
    session = Text(
        required=False, help_text="The session's name, or the API key that it is the session of."
    )


class NeededSession(Shape):
    session = Text(help_text="The session's name, or the API key that it is the session of.")


class MismatchBody(Shape):
    """A condition that does not hold."""

    field = Text(help_text="Its place in the step.")
    expected = Text(allow_blank=True)
    actual = Text(allow_blank=True)
