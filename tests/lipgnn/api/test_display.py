import sys
from types import ModuleType, SimpleNamespace

import pytest

from lipgnn.api import display


def test_values_are_short_and_nothing_is_a_dash():
    assert [display.cell(one) for one in (None, 0.123456, 1e-9, 3, "x")] == ["–", "0.1235", "1e-09", "3", "x"]


def test_foreign_text_is_escaped():
    bad = "<script>alert(1)</script>"
    pages = display.facts_html(bad, [(bad, bad)]) + display.rows_html([bad], [[bad]], bad)
    assert "<script>" not in pages and pages.count("&lt;script&gt;") == 6


def test_the_line_is_on_stderr_if_asked_for(capsys, monkeypatch):
    with display.StatusLine(True) as line:
        line.say("first line", at_once=True)
        line.say("left out")
        line.say("second", at_once=True)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "\rfirst line\rsecond    \n")
    monkeypatch.setenv("COLUMNS", "20")
    with display.StatusLine(True) as line:
        line.say("a line that is far too long for it", at_once=True)
    assert capsys.readouterr().err == "\ra line that is far \n"
    with display.StatusLine() as line:
        line.say("nobody looks", at_once=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert display.StatusLine().shown and not display.StatusLine(False).shown


@pytest.mark.parametrize("kernel", [True, False])
def test_in_a_notebook_the_line_is_below_the_cell(monkeypatch, capsys, kernel):
    shown, drawn = [], []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/plain"])
            drawn.append(content["text/html"])

    def show(content, raw, display_id):
        shown.append(content["text/plain"])
        return Handle()

    ipython, own = ModuleType("IPython"), ModuleType("IPython.display")
    shell = SimpleNamespace(kernel=1) if kernel else SimpleNamespace()
    ipython.get_ipython, own.display = lambda: shell, show
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", own)
    with display.StatusLine() as line:
        line.say("one", at_once=True)
        line.say("two <b>", share=0.25, at_once=True)
    if kernel:
        assert 'value="0.250"' in drawn[0] and "two &lt;b&gt;" in drawn[0]
    assert shown == (["one", "two <b>"] if kernel else []) and capsys.readouterr().err == ""
