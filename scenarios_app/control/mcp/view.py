"""`/control/mcp`: the control MCP server over streamable HTTP."""

from importlib.util import find_spec

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from rest_framework.request import Request

from scenarios_app.control.kit import ControlError, ControlView

# Messages are parsed on the event loop, which a larger one would hold up.
MAX_MESSAGE_BYTES = 1_000_000
MISSING = "MCP needs one more package on the server: pip install 'mockllm-server[mcp]'"


class McpView(ControlView):
    """Answers one message of an MCP client with one message.

    There are no MCP sessions and no streams: a request holds all that its answer needs. So any
    worker can answer it, nothing is left of a client that has gone, and a shutdown waits for calls
    only. `GET` and `DELETE` are 405, as the transport asks of such a server.
    """

    schema = None
    http_method_names = ("post",)

    def post(self, request: Request) -> HttpResponse:
        """Answer one message. Raises ControlError 503 without the MCP package, 415 for another
        content type than JSON, 413 for a long message."""
        if find_spec("mcp") is None:
            raise ControlError(503, MISSING)
        if request._request.content_type != "application/json":
            raise ControlError(415, "Send JSON, with Content-Type: application/json.")
        body = request._request.read(MAX_MESSAGE_BYTES + 1)
        if len(body) > MAX_MESSAGE_BYTES:
            raise ControlError(413, f"An MCP message has at most {MAX_MESSAGE_BYTES:,} bytes.")
        # Imported late: the MCP SDK takes a second to import.
        from scenarios_app.control.mcp.server import answer

        headers = {name.lower(): value for name, value in request.headers.items()}
        base_url = request.build_absolute_uri("/").rstrip("/")
        sent = async_to_sync(answer)(headers, body, base_url=base_url)
        return HttpResponse(sent.body, status=sent.status, headers=sent.headers)
