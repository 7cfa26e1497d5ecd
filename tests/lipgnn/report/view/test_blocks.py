import pytest

from lipgnn.errors import UsageError
from lipgnn.report.view.blocks import update_blocks

PAGE = """# Title
<!-- report: lipgnn report a.csv --where "lr=0.1" -->
old
<!-- end -->
between
<!-- report: lipgnn report b.csv -->
<!-- end -->
<!-- end -->
last"""


def test_every_block_is_replaced_and_nothing_else():
    page, blocks = update_blocks(PAGE, lambda words: "|".join(words))
    assert blocks == 2
    assert page == PAGE.replace("old", "a.csv|--where|lr=0.1").replace("b.csv -->\n", "b.csv -->\nb.csv\n")


def test_a_page_that_is_up_to_date_stays_as_it_is():
    page, _ = update_blocks(PAGE, lambda words: f"{words[0]}\n")
    assert update_blocks(page, lambda words: f"{words[0]}\n") == (page, 2)
    assert update_blocks("no block\r\n", lambda words: "") == ("no block\r\n", 0)


@pytest.mark.parametrize(
    "command",
    [
        "lipgnn sweep",
        "rm -rf results",
        "lipgnn report -o page.md",
        "lipgnn report --html=page.html",
        "lipgnn report --update page.md",
        "lipgnn report 'unclosed",
    ],
)
def test_only_commands_that_print_a_report_are_run(command):
    with pytest.raises(UsageError, match="Line 1 holds no command"):
        update_blocks(f"<!-- report: {command} -->\n<!-- end -->\n", lambda words: pytest.fail("was run"))


@pytest.mark.parametrize("rest", ["", "text\n", "<!-- report: lipgnn report -->\n<!-- end -->\n"])
def test_a_block_without_its_end_is_refused(rest):
    with pytest.raises(UsageError, match="begins in line 2 has no end"):
        update_blocks(f"\n<!-- report: lipgnn report -->\n{rest}", lambda words: "")
