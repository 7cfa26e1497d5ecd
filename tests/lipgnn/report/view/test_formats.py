import csv
import html
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lipgnn.report.view.formats import csv_table, html_table, latex, markdown, to_csv, to_dict
from lipgnn.report.view.paper import WIDE, for_paper
from lipgnn.report.view.printed import Entry, Printed, as_printed, plain


def grid_of(label, text="1.0"):
    return Printed(("name",), [[("value", 1)]], [((plain(label),), [Entry(text)])], "caption", [])


def test_markdown(table):
    assert markdown(as_printed(table)) == (
        "| norm | cora | citeseer |\n"
        "| --- | --- | --- |\n"
        "| none | <u>72.0 ± 2.0</u> | 62.0 ± 2.0 |\n"
        "| lip | **76.0 ± 1.0** | diverged (3) |\n"
        "| pair | 50.0, n = 1, 2 diverged | – |\n"
        "\n"
        "test accuracy in %; mean ± sample standard deviation over seed 0–2; n = 3 unless stated.\n"
        "\n"
        "5 diverged runs are excluded from the means.\n"
    )


def test_latex(full_table):
    text = latex(as_printed(full_table), "lipgnn report\nx")
    lines = text.splitlines()
    assert lines[0] == r"% lipgnn report\nx"
    assert r"\begin{tabular}{lccccc}" in lines
    assert r" & \multicolumn{3}{c}{cora} & \multicolumn{2}{c}{citeseer} \\" in lines
    assert r"\cmidrule(lr){2-4}\cmidrule(lr){5-6}" in lines
    assert lines[lines.index(r"\midrule") + 3].startswith(
        r"pair & 50.0, n = 1, 2 diverged & \textendash{} & $-$20.0, n = 1 & \textendash{}"
    )
    assert r"\textbf{76.0 $\pm$ 1.0} & 75.3 $\pm$ 0.9 & +4.0 (+1.5 to +6.5), p = 0.02, n = 3" in text
    assert r"A \& B 2021, table\_1" in text


@pytest.mark.real("tex")
@pytest.mark.parametrize("which", ["table", "full_table", "foreign_table"])
def test_latex_compiles(which, request, tmp_path):
    program = shutil.which("pdflatex") or shutil.which("tectonic")
    printed = as_printed(request.getfixturevalue(which))
    forms = [for_paper(printed, caption="A & B", label=f"tab:{wide}", wide=wide) for wide in (None, *WIDE)]
    body = "".join(latex(form, "lipgnn report") for form in forms)
    packages = "\\usepackage{booktabs}\\usepackage{rotating}"
    document = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{body}\\end{{document}}\n"
    (tmp_path / "table.tex").write_text(document)
    options = ["-interaction=nonstopmode", "-halt-on-error"] if program.endswith("pdflatex") else []
    done = subprocess.run([program, *options, "table.tex"], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 1000


@settings(deadline=None)
@given(st.text())
def test_latex_leaves_no_character_its_meaning(text):
    (row,) = (line for line in latex(grid_of(text)).splitlines() if line.endswith(r" & 1.0 \\"))
    label = row.removesuffix(r" & 1.0 \\")
    known = (
        r"\\text(backslash|ascii\w+|less|greater|bar|endash)\{\}",
        r"\\[&%$#_{}]",
        r"\$(\\pm|-)\$",
        r"\{[\[\]*-]\}",
    )
    rest = re.sub("|".join(known), "", label)
    assert not set(rest) & set("\\&%$#_{}~^[]*-")


@settings(deadline=None)
@given(st.text())
def test_markdown_keeps_a_name_in_its_cell(text):
    row = markdown(grid_of(text)).splitlines()[2]
    (label,) = re.fullmatch(r"\| (.*) \| 1\.0 \|", row).groups()
    assert not re.search(r"(?<!\\)(\\\\)*[|`*_\[\]]", re.sub(r"\\\\", "", label))
    assert "<" not in label
    assert html.unescape(re.sub(r"\\([\\`*_\[\]|~$])", r"\1", label)) == plain(text)


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


@settings(deadline=None)
@given(st.text())
def test_html_shows_a_name_as_it_is(text):
    page = html_table(grid_of(text))
    assert page.isascii()
    parser = Cells()
    parser.feed(page)
    assert set(parser.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td"}
    assert parser.texts[len(parser.tags) - 2] == plain(text)


def test_html(full_table):
    page = html.unescape(html_table(as_printed(full_table)))
    assert '<th colspan="3">cora</th><th colspan="2">citeseer</th>' in page
    assert '<th scope="row">lip</th><td><strong>76.0 ± 1.0</strong></td>' in page


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4))
@example(["=1", "'", "''x", "'=1", "-5", ""])
def test_csv_comes_back_without_a_formula(texts):
    records = [{"name": text, "number": -1.5} for text in texts]
    lines = list(csv.DictReader(io.StringIO(to_csv(records), newline="")))
    for line, text in zip(lines, texts, strict=True):
        assert line["name"][:1] not in ("=", "+", "-", "@")
        assert line["name"].removeprefix("'") == plain(text)
        assert line["number"] == "-1.5"


def test_csv_has_a_line_a_cell_with_all_numbers(full_table):
    lines = list(csv.DictReader(io.StringIO(csv_table(full_table))))
    assert len(lines) == 5
    (lip,) = (line for line in lines if (line["norm"], line["dataset"]) == ("lip", "cora"))
    assert float(lip["mean"]) == pytest.approx(0.76)
    assert (lip["n"], lip["diverged"], lip["published_mean"], lip["published_paper"]) == (
        "3",
        "0",
        "0.753",
        "A & B 2021",
    )
    assert float(lip["difference_mean"]) == pytest.approx(0.04)


def test_json_has_the_agreed_shape(full_table):
    content = json.loads(json.dumps(to_dict(full_table), allow_nan=False))
    assert content["value"] == "test_score"
    cells = {(cell["row"]["norm"], cell["col"]["dataset"]): cell for cell in content["cells"]}
    assert len(cells) == 5
    lip = cells["lip", "cora"]
    assert (lip["mean"], lip["std"], lip["n"]) == (pytest.approx(0.76), pytest.approx(0.01), 3)
    assert (lip["best"], lip["diverged"], len(lip["runs"])) == ({}, 0, 3)
    assert lip["published"]["depth"] == 10
    assert lip["difference"]["n"] == 3
    assert cells["lip", "citeseer"]["mean"] is None
    assert cells["lip", "citeseer"]["diverged"] == 3


def test_attacks_are_escaped_everywhere(foreign_table):
    printed = as_printed(foreign_table)
    assert "<script>" not in html_table(printed) + markdown(printed)
    assert r"\input{" not in latex(printed)
    assert "\n=1+1" not in csv_table(foreign_table) and "'=1+1" in csv_table(foreign_table)
    for text in (html_table(printed), markdown(printed), latex(printed), csv_table(foreign_table)):
        assert "\x1b" not in text
