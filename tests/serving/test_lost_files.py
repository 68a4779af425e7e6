"""The file of a response is closed if its client has left, without the garbage collector."""

import asyncio
import io
import threading

import pytest
from asgiref.sync import sync_to_async
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from mockllm_site.kit.streams import close_if_lost, close_lost_streams


@pytest.mark.parametrize("is_file", [True, False])
async def test_file_is_closed_if_its_client_left_before_the_response(is_file: bool) -> None:
    view_started, may_continue = threading.Event(), threading.Event()
    view_finished, file = threading.Event(), io.BytesIO(b"a file")

    def view(request: HttpRequest) -> HttpResponseBase:
        view_started.set()
        may_continue.wait(30)
        if is_file:
            close_if_lost(file)
        view_finished.set()
        return FileResponse(file) if is_file else HttpResponse("none")

    request_task = asyncio.ensure_future(
        close_lost_streams(sync_to_async(view, thread_sensitive=False))(HttpRequest())
    )
    await asyncio.to_thread(view_started.wait, 30)
    request_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request_task
    may_continue.set()
    await asyncio.to_thread(view_finished.wait, 30)
    assert file.closed is is_file


async def test_the_file_of_a_client_that_waits_stays_open() -> None:
    file = io.BytesIO(b"a file")

    def view(request: HttpRequest) -> HttpResponseBase:
        close_if_lost(file)
        return FileResponse(file)

    response = await close_lost_streams(sync_to_async(view))(HttpRequest())
    assert not file.closed
    response.close()
    assert file.closed
