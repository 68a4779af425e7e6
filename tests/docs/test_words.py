"""The docs of users stay short."""

from tests.docs.llms import read_page, sections

MAX_WORDS = 60_000


def test_docs_of_users_have_few_words() -> None:
    words = {
        page: len(read_page(page).split())
        for section, pages in sections()
        if section != "The project"
        for page in pages
    }
    largest = sorted(words, key=words.__getitem__, reverse=True)[:5]
    assert len(words) > 50
    assert sum(words.values()) <= MAX_WORDS, f"shorten one, such as {', '.join(largest)}"
