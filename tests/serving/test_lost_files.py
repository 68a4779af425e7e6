"""A file that a client did not wait for is closed, and not left to the garbage collector."""

import asyncio
import io
import threading

import pytest
from asgiref.sync import sync_to_async
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from mockllm_site.kit.lost_streams import close_lost_files, close_lost_streams


@pytest.mark.parametrize("found", [True, False])
async def test_a_file_is_closed_whose_client_left_before_it_was_found(found: bool) -> None:
    begun, go_on = threading.Event(), threading.Event()
    answered, file = threading.Event(), io.BytesIO(b"a file")

    def give(request: HttpRequest) -> HttpResponseBase:
        begun.set()
        go_on.wait(30)
        return FileResponse(file) if found else HttpResponse("none")

    def look(request: HttpRequest) -> HttpResponseBase:
        response = close_lost_files(give)(request)
        answered.set()
        return response

    asked = asyncio.ensure_future(
        close_lost_streams(sync_to_async(look, thread_sensitive=False))(HttpRequest())
    )
    await asyncio.to_thread(begun.wait, 30)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    go_on.set()
    await asyncio.to_thread(answered.wait, 30)
    assert file.closed is found


async def test_the_file_of_a_client_that_waits_stays_open() -> None:
    file = io.BytesIO(b"a file")
    given = sync_to_async(close_lost_files(lambda request: FileResponse(file)))
    response = await close_lost_streams(given)(HttpRequest())
    assert not file.closed
    response.close()
    assert file.closed
