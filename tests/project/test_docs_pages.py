"""The documentation on the server: pages, links, pictures, and Help in the admin."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client

from mockllm_site import paths
from mockllm_site.pages import docs, docs_search
from mockllm_site.pages.home import help_link
from tests.project.access import make_client


class Links(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.anchors += [attributes["id"] or ""] if "id" in attributes else []
        target = attributes.get("href") or attributes.get("src")
        if target and tag in ("a", "img"):
            self.targets.add(target)


@pytest.mark.parametrize("name", docs.page_files())
def test_every_link_of_a_page_leads_to_a_page_an_anchor_or_a_picture(name: str) -> None:
    links = Links(docs.render_page(name).html)
    broken_targets = {target for target in links.targets if not is_valid_target(target, name)}
    assert broken_targets == set()
    assert len(links.anchors) == len(set(links.anchors))


def is_valid_target(target: str, page: str) -> bool:
    if "://" in target:
        return True
    path, _, anchor = target.partition("#")
    name = path.removeprefix(docs.ROOT).removesuffix("/") if path else page
    if name in docs.picture_files():
        return True
    if name not in docs.page_files() or (path and path != docs.url_of_page(name)):
        return False
    return not anchor or anchor in Links(docs.render_page(name).html).anchors


def test_page_has_a_table_of_contents_and_may_be_cached(client: Client) -> None:
    response = client.get("/docs/recording/")
    html = response.content.decode()
    assert "<title>Record and replay · mockllm docs</title>" in html
    assert '<a href="#keys">Keys</a>' in html and '<h2 id="keys">Keys</h2>' in html
    assert response.headers["Cache-Control"] == f"max-age={docs.CACHE_SECONDS}"
    assert "unsafe" not in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/docs/admin", "/docs/admin/"),
        ("/docs/admin.md", "/docs/admin/"),
        ("/docs/how-to/index.md", "/docs/how-to/"),
    ],
)
def test_another_spelling_of_a_page_is_redirected_to_it(
    client: Client, path: str, page: str
) -> None:
    assert client.get(path).headers["Location"] == page
    assert client.get(page).status_code == 200


@pytest.mark.parametrize(
    "path", ["/docs/none/", "/docs/none", "/docs/../pyproject.toml", "/docs/%2e%2e/manage.py/"]
)
def test_unknown_docs_page_is_not_found(client: Client, path: str) -> None:
    assert client.get(path, headers={"accept": "text/html"}).status_code == 404


def test_a_picture_is_sent_with_its_type(client: Client) -> None:
    response = client.get("/docs/screenshots/draft-light.png")
    assert response.headers["Content-Type"] == "image/png"
    assert response.content.startswith(b"\x89PNG")


def test_html_in_a_page_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    page = "# A <b>b</b>\n\n<script>x</script>\n\n[a](javascript:alert)\n\n| |n|\n|-|-:|\n|1|2|\n"
    (tmp_path / "docs" / "hostile.md").write_text(page)
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    for cached in (docs.page_files, docs.render_page):
        cached.cache_clear()
    try:
        html = docs.render_page("hostile").html
    finally:
        for cached in (docs.page_files, docs.render_page):
            cached.cache_clear()
    assert "<script" not in html and "<b>" not in html and 'href="javascript' not in html
    assert "style=" not in html and '<td class="number">2</td>' in html


def test_help_links_to_existing_pages() -> None:
    urls = {f"{docs.ROOT}{page}" for _, page in docs.HELP_PAGES}
    assert {url for url in urls if not is_valid_target(url, "")} == set()


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/admin/", "admin/"),
        ("/admin/scenarios_app/scenario/", "admin/#the-list-of-scenarios"),
        ("/admin/scenarios_app/scenario/3/change/", "admin/#a-scenarios-page"),
        ("/admin/scenarios_app/scenario/3/history/", "admin/#lint-and-history"),
        ("/admin/scenarios_app/scenario/test/", "admin/#test"),
        ("/admin/scenarios_app/draft/3/test/", "admin/#test"),
        ("/admin/scenarios_app/servedrequest/session/", "admin/#sessions"),
        ("/admin/scenarios_app/servedrequest/7/change/", "admin/#the-journal"),
        ("/admin/chat_app/modelprofile/add/", "providers/"),
        ("/admin/traces_app/trace/", "admin/#conversations-traces-comparisons"),
        ("/admin/auth/user/", "admin/#who-may-do-what"),
    ],
)
def test_help_of_an_admin_page_links_to_its_explanation(path: str, page: str) -> None:
    assert docs.help_url(path) == f"/docs/{page}"


@pytest.mark.django_db
def test_each_page_of_the_admin_has_the_help_link() -> None:
    root = make_client("root")
    for path in ("", "scenarios_app/scenario/", "scenarios_app/scenario/test/", "auth/group/add/"):
        html = root.get(f"/admin/{path}").content.decode()
        (link,) = re.findall(r'<a href="([^"]+)" class="sc-help-link"', html)
        assert link == docs.help_url(f"/admin/{path}")


def test_help_of_a_page_without_a_request_is_the_list_of_pages() -> None:
    assert help_link({}) == docs.ROOT


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cassette", "/docs/recording/"),
        ("MOCKLLM_WORDS_PER_SECOND", "/docs/reference/settings/"),
        ("parallel tests", "/docs/how-to/parallel-tests/"),
        ("Retry-After", "/docs/"),
    ],
)
def test_search_finds_the_page_that_answers(client: Client, query: str, first: str) -> None:
    html = client.get("/docs/search/", {"q": query}).content.decode()
    (best, *_) = re.findall(r'<h2><a href="([^"]+)"', html)
    assert best.startswith(first)
    assert f'value="{query}"' in html


def test_every_search_result_leads_to_its_section() -> None:
    for section in docs_search.all_sections():
        assert is_valid_target(section.url, section.page), section.url


@pytest.mark.parametrize("query", ["<script>alert(1)</script>", "zzzunknown", "", "a" * 5_000])
def test_search_without_result_says_so_and_escapes(client: Client, query: str) -> None:
    response = client.get("/docs/search/", {"q": query})
    html = response.content.decode()
    assert response.status_code == 200
    assert "<script>alert" not in html
    expected = "No page has all these words" if query else "Write one or more words"
    assert expected in html


def test_excerpt_marks_the_words_and_escapes_the_text() -> None:
    section = docs_search.Section("p", "P", "H", "h", "Use <b> & the header X-Token " * 20)
    excerpt = section.excerpt(["header"])
    assert (
        "<mark>header</mark>" in excerpt and "&lt;b&gt; &amp;" in excerpt and "<b>" not in excerpt
    )
