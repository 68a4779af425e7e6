"""Ids of answers are random UUIDs, also in forked processes."""

import os
import warnings
from uuid import UUID

from scenarios_app.serving.exchange import random_uid


def test_ids_are_different_uuids_of_version_4() -> None:
    uids = [UUID(random_uid()) for _ in range(1_000)]
    assert len(set(uids)) == 1_000
    assert {(uid.version, uid.variant) for uid in uids} == {(4, "specified in RFC 4122")}


def test_forked_process_draws_other_ids() -> None:
    random_uid()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The child only draws an id, whatever threads its parent has.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writing, random_uid().encode())
        os._exit(0)
    os.waitpid(child, 0)
    uid = os.read(reading, 36).decode()
    os.close(reading)
    os.close(writing)
    assert uid not in [random_uid() for _ in range(1_000)]
