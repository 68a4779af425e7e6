"""The JSON of a request's body, read without silent losses."""

import json
from typing import Any, NoReturn

from mockllm_site.kit.api.errors import ApiError


def decode(body: bytes) -> Any:
    """The value of a JSON text; a 400 for what is none, is no text, or would lose something."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number
        )
        # No number beyond what JSON has, and no half of a surrogate pair.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise ApiError(400, f"Expected UTF-8 text, byte {error.start + 1} is not.") from None
    except UnicodeEncodeError:
        raise ApiError(400, "A text holds half of a surrogate pair.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise ApiError(400, f"Not valid JSON, {place}: {error.msg}.") from None
    except RecursionError:
        raise ApiError(400, "The JSON is nested too deep.") from None
    except ValueError:
        raise ApiError(400, "The JSON holds a number too large to read.") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ApiError(400, f"{key!r}: this key is given twice.")
        made[key] = value
    return made


def _no_number(name: str) -> NoReturn:
    raise ApiError(400, f"Not valid JSON: {name} is no number of its.")
