"""Resources that a session stores, such as batches and files, and the endpoints about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import (
    ArchivedValues,
    ArchiveHooks,
    ArchiveWrite,
    Call,
    ComputeContext,
    ComputedResponse,
    Endpoint,
    Params,
    RequestReader,
    encode_json,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError


class Resource(msgspec.Struct, frozen=True):
    """A stored resource; `created` is in Unix seconds, `ordinal` its request's number in the
    session."""

    id: str
    created: int
    ordinal: int


ResourceT = TypeVar("ResourceT", bound=Resource)


class ResourceFields(msgspec.Struct, frozen=True, kw_only=True):
    """A request about one `name`, or a `page` of all; `loaded` are those resources that exist."""

    name: str = ""
    page: Any = None
    loaded: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResourceKind(Generic[ResourceT]):
    """One kind of resource in a provider's API.

    The path of a single resource ends with its `parameter`. Stored names begin with `prefix`; the
    `examples` exist in every session and are never stored. `decode` reads a stored resource and
    `writes` stores it, with values that belong to it. `read_page` returns the requested page of a
    list, `read_fields` the other fields of a request without its name. `to_json` returns a resource
    as the API shows it, and `render_page` a page of these, given from old to new; both get the
    request's fields. `not_found` makes the 404 for a name.

    The `options` of the endpoints may have a `render` function to show something else than JSON,
    `hooks` to load something else than resources, and the fields of an `Endpoint`.
    """

    provider: str
    path: str
    parameter: str
    prefix: str
    examples: Mapping[str, ResourceT]
    decode: Callable[[bytes], ResourceT]
    writes: Callable[[ResourceT], tuple[ArchiveWrite, ...]]
    read_fields: Callable[[Call], ResourceFields]
    read_page: Callable[[Call], object]
    to_json: Callable[[ResourceT, Any], dict[str, Any]]
    render_page: Callable[[list[dict[str, Any]], Any], object]
    not_found: Callable[[str], WireError]

    def creation_endpoint(
        self,
        read: RequestReader,
        make: Callable[[CanonicalRequest, ComputeContext], ResourceT],
        **options: Any,
    ) -> Endpoint:
        """Return an endpoint that stores the resource that `make` returns, and shows it."""
        return self._endpoint("POST", self.path, read, make, **options)

    def resource_endpoint(
        self,
        method: str,
        action: str = "",
        change: Callable[[ResourceT, int], ResourceT] = lambda resource, now: resource,
        **options: Any,
    ) -> Endpoint:
        """Return an endpoint at the path of one resource, plus `action`, that shows the resource.
        `change` returns the resource as it is at a time in seconds; if it differs, it is stored."""

        def get_changed(request: CanonicalRequest, context: ComputeContext) -> ResourceT:
            """Return the named resource as it is now; raise the 404 if there is none."""
            return change(self._require_resource(request), context.created)

        path = f"{self.path}/{{{self.parameter}}}{action}"
        return self._endpoint(method, path, self._read, get_changed, **options)

    def deletion_endpoint(self, render: Callable[[ResourceT, Any], bytes]) -> Endpoint:
        """Return an endpoint that deletes the named resource, unless `render` raises an error."""

        def compute(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
            """Return the confirmation and the write that deletes the resource; raise a 404."""
            body = render(self._require_resource(request), request.own)
            return ComputedResponse(body, (ArchiveWrite(request.own.name, None),))

        return replace(self.resource_endpoint("DELETE"), compute=compute)

    def listing_endpoint(self) -> Endpoint:
        """Return an endpoint that shows a page of all resources."""

        def compute(request: CanonicalRequest, context: ComputeContext) -> bytes:
            """Return a page of the resources, from old to new."""
            own: ResourceFields = request.own
            by_age = sorted(own.loaded, key=lambda resource: resource.ordinal)
            entries = [self.to_json(resource, own) for resource in by_age]
            return encode_json(self.render_page(entries, own))

        hooks = replace(self._hooks, prefix=self.prefix)
        return Endpoint("GET", self.path, self._read, compute=compute, archival=hooks)

    def find(self, name: str, archived: ArchivedValues) -> ResourceT | None:
        """Return the resource of a name, an example too; None if missing or of another kind."""
        data = archived.get(name) if name.startswith(self.prefix) else None
        return self.examples.get(name) if data is None else self.decode(data)

    def _endpoint(
        self,
        method: str,
        path: str,
        read: RequestReader,
        get_resource: Callable[[CanonicalRequest, ComputeContext], ResourceT],
        *,
        render: Callable[[ResourceT, Any], bytes] | None = None,
        hooks: ArchiveHooks | None = None,
        **options: Any,
    ) -> Endpoint:
        """Return an endpoint that shows what `get_resource` returns, and stores it if it is new or
        changed."""

        def compute(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
            """Return the resource as JSON, with the writes that store a new or changed one."""
            resource, own = get_resource(request, context), request.own
            body = render(resource, own) if render else encode_json(self.to_json(resource, own))
            is_stored = resource.id in self.examples or resource in own.loaded
            return ComputedResponse(body, () if is_stored else self.writes(resource))

        archival = hooks or self._hooks
        return Endpoint(method, path, read, compute=compute, archival=archival, **options)

    def _read(self, call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
        """Return the request for the resource that its path names, or else for a page of all."""
        own = self.read_fields(call)
        name = params.get(self.parameter)
        own = replace(own, name=name) if name else replace(own, page=self.read_page(call))
        return make_resource_request(call, endpoint, own, provider=self.provider)

    @property
    def _hooks(self) -> ArchiveHooks:
        """The hooks that load the resource that a request names, or all with a hook's prefix."""
        return ArchiveHooks(
            lambda request, archived: (request.own.name,) if request.own.name else (),
            self._load_resources,
        )

    def _load_resources(
        self, request: CanonicalRequest, archived: ArchivedValues
    ) -> CanonicalRequest:
        """Return a request with `loaded` set: the resource that its path names, or all of them;
        empty if there is none."""
        own: ResourceFields = request.own
        names = (own.name,) if own.name else archived
        loaded = [each for name in names if (each := self.find(name, archived)) is not None]
        return replace(request, own=replace(own, loaded=tuple(loaded)))

    def _require_resource(self, request: CanonicalRequest) -> ResourceT:
        """Return the loaded resource of a request; raise the 404 if there is none."""
        loaded: tuple[ResourceT, ...] = request.own.loaded
        if not loaded:
            raise self.not_found(request.own.name)
        return loaded[0]
