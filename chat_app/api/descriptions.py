"""What the OpenAPI document tells of the chat API's methods."""

from collections.abc import Mapping
from functools import partial

from mockllm_site.kit.api import documented as described

MEANINGS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "Neither a login nor the chat token.",
    403: "The CSRF token of a login is missing or wrong.",
    404: "There is nothing of this id or name, or not for this client.",
    409: "What goes on, or what was done, does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer, or too many streams are open.",
}

documented = partial(described.documented, meanings=MEANINGS)
