"""What all views of the control API have in common: who gets in, and how JSON is read."""

from typing import Any

from mockllm_site.api.view import JsonView
from scenarios_app.control.access import Access
from scenarios_app.control.errors import answer_error
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document_json import decode


class ControlView(JsonView):
    """One path of the control API."""

    authentication_classes = (Access,)

    def get_exception_handler(self) -> Any:
        return answer_error

    def decode(self, body: bytes) -> Json:
        """As documents are read: an error names the place."""
        return decode(body)
