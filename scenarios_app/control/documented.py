"""What the OpenAPI document tells of the control API's methods."""

from collections.abc import Mapping
from functools import partial

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mockllm_site.api import documented as described
from mockllm_site.api.documented import Form

SCENARIO: Form = {"$ref": "#/components/schemas/ScenarioDocument"}
DOCUMENT: Form = {"$ref": "#/components/schemas/Document"}
STEP: Form = {"$ref": "#/components/schemas/StepDocument"}
MATCH: Form = {"$ref": "#/components/schemas/MatchDocument"}

MEANINGS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "The control token is missing or wrong.",
    403: "The control API is closed here.",
    404: "There is nothing of this name or id.",
    409: "Something of this name exists, or does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer.",
}

documented = partial(described.documented, meanings=MEANINGS)


@extend_schema_field(SCENARIO)
class ScenarioField(serializers.JSONField):
    """A scenario document."""


@extend_schema_field(MATCH)
class MatchField(serializers.JSONField):
    """Conditions on a request, as a step has them."""
