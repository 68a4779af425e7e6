"""The fields that OpenAI's requests have in common, each read or refused in one way."""

from collections.abc import Callable, Mapping

from scenarios_app.engine.canonical import Json, Tool
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

MOST_CHOICES = 128


def model_of(body: Node, deployment: str | None) -> str:
    """The model that a body names; on Azure the deployment stands for one that it does not."""
    node = body.maybe("model") if deployment else body.need("model")
    model = node.text() if node else deployment
    if not model:
        raise WireError(400, "The model must be named.", param="model", code="invalid_value")
    return model


def check_types(body: Node, types: Mapping[str, Callable[[Node], object]]) -> None:
    """Refuse a body in which one of these fields is of another type."""
    for key in body.object().keys() & types.keys():
        if node := body.maybe(key):
            types[key](node)


def read_metadata(body: Node) -> dict[str, str]:
    node = body.maybe("metadata")
    return {key: node.get(key).text() for key in node.object()} if node else {}


def read_number(body: Node, key: str) -> float | None:
    node = body.maybe(key)
    return node.number() if node else None


def read_stream(body: Node) -> bool:
    """Whether a stream is asked for."""
    if options := body.maybe("stream_options"):
        for key in ("include_usage", "include_obfuscation"):
            if option := options.maybe(key):
                option.flag()
    stream = body.maybe("stream")
    return stream.flag() if stream else False


def wants_usage(body: Node) -> bool:
    """Whether a stream is to tell what the answer costs."""
    options = body.maybe("stream_options")
    return options is not None and options.get("include_usage").value is True


def read_stop(body: Node) -> tuple[str, ...]:
    node = body.get("stop")
    match node.value:
        case None:
            return ()
        case str(text):
            return (text,)
        case list():
            return tuple(item.text() for item in node.items())
        case _:
            raise node.wrong("a string or an array")


def read_choices(body: Node) -> int:
    """How many choices are asked for."""
    node = body.maybe("n")
    if node is None:
        return 1
    n = node.integer()
    if 1 <= n <= MOST_CHOICES:
        return n
    raise WireError(
        400,
        f"Invalid '{node.place}': expected 1 to {MOST_CHOICES} choices, but got {n}.",
        param=node.place,
        code="integer_below_min_value" if n < 1 else "integer_above_max_value",
    )


def read_tool_choice(body: Node, *keys: str) -> Json:
    """The first that is given of these fields, which are names or objects."""
    choice = next((node for key in keys if (node := body.maybe(key))), None)
    if choice is None:
        return None
    if isinstance(choice.value, str | dict):
        return choice.value
    raise choice.wrong("a string or an object")


def read_definition(node: Node, schema: str) -> Tool:
    """A tool whose form stands under `schema`."""
    description, form = node.maybe("description"), node.maybe(schema)
    return Tool(
        name=node.need("name").text(),
        description=description.text() if description else "",
        schema=dict(form.object()) if form else None,
    )
