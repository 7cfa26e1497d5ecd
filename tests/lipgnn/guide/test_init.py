from importlib.resources import files

import pytest

from lipgnn.errors import UsageError
from lipgnn.guide import TOPICS, pages, read


def test_every_page_that_ships_is_a_topic_and_every_topic_a_page():
    assert sorted(TOPICS) == sorted(f.name[:-3] for f in files("lipgnn.guide").iterdir() if f.name.endswith(".md"))


def test_pages_come_in_the_order_of_the_topics():
    assert [page.topic for page in pages()] == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_begins_with_its_title_and_one_line_about_it(topic):
    page = read(topic)
    assert page.text.startswith(f"# {page.title}\n\n{page.summary}\n\n")
    assert page.title and not page.title.startswith("#")
    assert page.summary.endswith(".") and len(page.summary) <= 120 and "`" not in page.summary


def test_an_unknown_topic_names_the_nearest_one():
    with pytest.raises(UsageError) as caught:
        read("detph")
    assert caught.value.hint.startswith("Did you mean 'depth'?")
    assert "../depth" not in TOPICS  # a path is a name like any other, and unknown
    with pytest.raises(UsageError):
        read("../guide/depth")
