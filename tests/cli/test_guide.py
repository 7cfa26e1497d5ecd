import pytest
from rich.console import Console

from cli import console
from lipgnn.guide import TOPICS, pages, read


def test_without_a_topic_every_page_is_listed_with_what_is_on_it(invoke):
    code, out, err = invoke("guide")
    assert code == 0
    lines = out.splitlines()
    for page in pages():
        assert any(page.topic in line and page.summary in line for line in lines), page.topic
    assert "lipgnn guide first-run" in err


@pytest.mark.parametrize("topic", TOPICS)
def test_a_pipe_gets_the_page_as_it_is(invoke, topic):
    assert invoke("guide", topic) == (0, read(topic).text, "")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_terminal_gets_the_page_rendered_within_its_width(invoke, topic, monkeypatch):
    terminal = Console(force_terminal=True, width=80, color_system=None, markup=False, highlight=False, emoji=False)
    monkeypatch.setattr(console, "out", lambda: terminal)
    code, out, _ = invoke("guide", topic)
    assert code == 0
    assert read(topic).title in out
    assert "```" not in out and "\n## " not in out and "\n| ---" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_an_unknown_topic_is_wrong_use_with_the_nearest_match(invoke):
    code, out, err = invoke("guide", "sweps")
    assert (code, out) == (2, "")
    assert "Did you mean 'sweeps'?" in err
