import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.report.view.page_tables import update_tables

PAGE = """# Title
<!-- report: lipgnn report a.csv --where "lr=0.1" -->
old
<!-- end -->
between
<!-- report: lipgnn report b.csv -->
<!-- end -->
<!-- end -->
last"""


def test_every_table_is_replaced_and_nothing_else():
    page, tables = update_tables(PAGE, lambda words: "|".join(words))
    assert tables == 2
    assert page == PAGE.replace("old", "a.csv|--where|lr=0.1").replace("b.csv -->\n", "b.csv -->\nb.csv\n")


def test_a_page_that_is_up_to_date_stays_as_it_is():
    page, _ = update_tables(PAGE, lambda words: f"{words[0]}\n")
    assert update_tables(page, lambda words: f"{words[0]}\n") == (page, 2)
    assert update_tables("no table\r\n", lambda words: "") == ("no table\r\n", 0)


@pytest.mark.parametrize(
    "command",
    [
        "lipgnn sweep",
        "rm -rf results",
        "lipgnn report a\0b",
        "lipgnn report 'unclosed",
    ],
)
def test_only_commands_that_print_a_report_are_run(command):
    with pytest.raises(UsageError, match="Line 1 holds no command"):
        update_tables(f"<!-- report: {command} -->\n<!-- end -->\n", lambda words: pytest.fail("was run"))


@pytest.mark.parametrize("rest", ["", "text\n", "<!-- report: lipgnn report -->\n<!-- end -->\n"])
def test_a_table_without_its_end_is_refused(rest):
    with pytest.raises(UsageError, match="begins in line 2 has no end"):
        update_tables(f"\n<!-- report: lipgnn report -->\n{rest}", lambda words: "")


def test_an_error_says_the_line_and_keeps_its_code():
    def run(words):
        raise DataError("It is damaged.", "Fix it.")

    with pytest.raises(DataError, match=r"Line 2 cannot be printed\. It is damaged\.") as caught:
        update_tables("\n<!-- report: lipgnn report -->\n<!-- end -->\n", run)
    assert caught.value.hint == "Fix it."
