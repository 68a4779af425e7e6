"""The page of a trace, which is the same from the admin and from the playground."""

import pytest
from django.test import Client

from chat_app.models import Message, Sender
from tests.admin.chat.talks import LISTS, create_conversation
from traces_app.models import Trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace() -> Trace:
    return create_conversation("What is <b>1 + 2</b>?").comparisons.get().trace_a


def test_page_is_headed_by_its_question_and_begins_with_the_waterfall(
    root: Client, trace: Trace
) -> None:
    html = root.get(f"/traces/{trace.pk}/").content.decode()
    assert "<h1>What is &lt;b&gt;1 + 2&lt;/b&gt;?</h1>" in html
    headings = [html.index(f"<h2>{title}</h2>") for title in ("Waterfall", "Totals", "Events")]
    assert headings == sorted(headings)
    Message.objects.filter(sender=Sender.USER).delete()
    assert "<h1>Trace</h1>" in root.get(f"/traces/{trace.pk}/").content.decode()


def test_admin_leads_to_the_page_and_the_page_to_its_form(
    root: Client, reader: Client, trace: Trace
) -> None:
    page, form = f"/traces/{trace.pk}/", f"{LISTS['traces_app.trace']}{trace.pk}/change/"
    for client in (root, reader):
        listed = client.get(LISTS["traces_app.trace"]).content.decode()
        assert f'href="{page}"' in listed and f'href="{form}"' not in listed
    for client, label in ((root, "Edit"), (reader, "Note and tags")):
        assert f'href="{form}">{label}</a>' in client.get(page).content.decode()
    assert form not in Client().get(page).content.decode()
    assert f'href="{page}"' in root.get(form).content.decode()
