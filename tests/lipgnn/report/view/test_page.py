import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.view.page import MOST_PANELS, render_page, title_of
from lipgnn.report.view.printed import as_printed
from lipgnn.results.rows import Results, read_results
from lipgnn.spec.run import RunSpec

ATTACK = "<script>document.title='owned'</script>"


class Rows(HTMLParser):
    """The texts of every table row, in the order of the page."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


@pytest.fixture
def store(result_row, write_store, tmp_path):
    """Three norms, two depths, two seeds, with logs; one diverged run, one failed one, one attack."""
    means = {"none": 0.6, "lip": 0.8, "pair": 0.7}
    runs = [
        result_row(norm=norm, layers=layers, seed=seed, test_score=mean + seed / 100 - layers / 1000, command=ATTACK)
        for norm, mean in means.items()
        for layers in (2, 30)
        for seed in (0, 1)
    ]
    runs[3] |= {"status": "diverged", "test_score": None, "val_score": None, "diverged_at": "gradient of layer 24"}
    folder = write_store(tmp_path / "store", runs)
    results = read_results([folder])
    for run in runs:
        lines = [json.dumps({"epoch": epoch, "test_score": epoch / 10}) for epoch in (1, 2)]
        results.run(run["run_id"]).log_path.write_text("\n".join([*lines, ""]))
    failed = folder / "runs" / "0123456789ab"
    failed.mkdir()
    (failed / "spec.json").write_text(json.dumps({"schema": 1, "spec": RunSpec(layers=99).to_dict()}))
    (failed / "failure.json").write_text(json.dumps({"schema": 1, "reason": f"MemoryError {ATTACK}", "epoch": 7}))
    return folder


@pytest.fixture
def page(store):
    results = read_results([store])
    table = build_table(results.rows, Layout(rows=("norm",), cols=("layers",)))
    return render_page(table, as_printed(table), results, f"lipgnn report --where dataset='{ATTACK}'").decode()


def test_the_page_holds_table_figures_troubles_and_commands(page):
    parser = Rows()
    parser.feed(page)
    assert ["norm", "layers 2", "layers 30"] in parser.rows
    assert ["none", "60.3 ± 0.7", "57.0, n = 1, 1 diverged"] in parser.rows
    assert any(row[1:3] == ["diverged", "not finite: gradient of layer 24"] for row in parser.rows)
    command = "lipgnn train --dataset cora --model gat --layers 99"
    (failed,) = (row for row in parser.rows if row[0] == "0123456789ab")
    assert failed[1:3] == ["failed", f"MemoryError {ATTACK} (epoch 7)"]
    assert failed[3].startswith(command)
    assert sum(row[-1:] == [ATTACK] for row in parser.rows) == 12 + 1
    assert page.count("<svg") == 3
    assert page.count("<details>") == 6
    assert "lr=0.005" in page
    # Every part says what it is.
    assert page.count("<h2>") == 4 and len(re.findall(r"</h2>\n<p>[A-Z]", page)) == 4
    # A figure may scroll, and does not become smaller than can be read.
    assert page.count('<div class="wide"><svg style="min-width:') == 3


def test_a_run_that_failed_before_it_wrote_its_options_has_no_command(store):
    (store / "runs" / "0123456789ab" / "spec.json").unlink()
    results = read_results([store])
    table = build_table(results.rows, Layout(rows=("norm",), cols=("layers",)))
    assert "failed before its options were written" in render_page(table, as_printed(table), results, "").decode()


@pytest.mark.parametrize(
    "rows, cols, title",
    [
        (("norm",), ("dataset", "layers"), "Test accuracy by norm and dataset and layers"),
        (("norm",), (), "Test accuracy by norm on cora"),
    ],
)
def test_the_title_says_what_is_shown(result_row, rows, cols, title):
    table = build_table([result_row(norm=norm) for norm in ("none", "lip")], Layout(rows=rows, cols=cols))
    assert title_of(table) == title


def test_the_page_asks_nothing_of_the_network_and_runs_nothing_foreign(page):
    assert ATTACK not in page
    assert page.count("<script>") == 1
    assert "default-src 'none'" in page
    links = re.findall(r"(?:src|href|action)\s*=\s*[\"']([^\"']*)", page)
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", page)


def test_a_page_without_a_store_or_with_many_columns_goes_without_those_figures(result_row):
    runs = [result_row(norm=norm, lr=0.001 * k) for norm in ("none", "lip") for k in range(1, MOST_PANELS + 2)]
    results = Results(runs, [], ["a <note>"])
    table = build_table(runs, Layout(rows=("norm",), cols=("lr",)))
    page = render_page(table, as_printed(table), results, "lipgnn report").decode()
    assert "<svg" not in page
    assert "a &lt;note&gt;" in page
    assert "Diverged and failed" not in page


def test_layers_are_drawn_where_all_runs_have_recorded_them(result_row, write_store, tmp_path):
    import numpy as np

    from lipgnn.results.recordings import SIMILARITY, write_recording
    from lipgnn.results.store import Store

    runs = [result_row(norm=norm, layers=2, epochs_run=1) for norm in ("none", "lip")]
    store = Store(write_store(tmp_path / "recorded", runs))
    layout = Layout(rows=("norm",), cols=("dataset",))
    for run in runs:
        results = read_results([store.root])
        table = build_table(results.rows, layout)
        assert "<h2>Layers</h2>" not in render_page(table, as_printed(table), results, "lipgnn report").decode()
        arrays = {"epochs": np.arange(2), **{name: np.ones((2, 3), dtype=np.float32) for name in SIMILARITY}}
        write_recording(store.run(run["run_id"]).recording_path("similarity"), arrays)
    results = read_results([store.root])
    text = render_page(table, as_printed(table), results, "lipgnn report").decode()
    section = text[text.index("<h2>Layers</h2>") :]
    assert section.count("<figure>") == 4
    assert "all nodes have become alike" in section and "Every run is a dot" in section


def test_an_unreadable_failure_is_told_not_hidden(store):
    for name in ("failure", "spec"):
        (store / "runs" / "0123456789ab" / f"{name}.json").write_text("{")
    results = read_results([store])
    table = build_table(results.rows, Layout(rows=("norm",), cols=("layers",)))
    page = render_page(table, as_printed(table), results, "").decode()
    assert "failure.json cannot be read" in page
    assert "spec.json cannot be read" in page


@pytest.fixture
def browser(tmp_path):
    """Show a page in a real browser: browser(html, *options) -> what it prints."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    quiet += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'user'}"]

    def show(html, *options):
        (tmp_path / "page.html").write_text(html)
        command = [program, *quiet, *options, (tmp_path / "page.html").as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    return show


def norms(dom):
    parser = Rows()
    parser.feed(dom)
    start = parser.rows.index(["norm", "layers 2", "layers 30"]) + 1
    return [row[0] for row in parser.rows[start : start + 3]]


def test_a_browser_shows_the_page_and_sorts_its_table(page, browser):
    dom = browser(page, "--dump-dom")
    assert norms(dom) == ["none", "lip", "pair"]
    assert "<title>Test accuracy by norm and layers on cora</title>" in dom
    click = "<script>document.querySelectorAll('table')[0].querySelectorAll('thead th')[1].click()</script>"
    assert norms(browser(page + click, "--dump-dom")) == ["none", "pair", "lip"]
    assert norms(browser(page + click + click, "--dump-dom")) == ["lip", "pair", "none"]


def test_a_browser_paints_it_light_and_dark(page, browser, tmp_path):
    from matplotlib.image import imread

    corners = []
    for number, options in enumerate(([], ["--blink-settings=preferredColorScheme=0"])):
        picture = tmp_path / f"{number}.png"
        browser(page, f"--screenshot={picture}", "--window-size=1000,900", *options)
        pixels = imread(picture)
        assert pixels[..., :3].std() > 0.05, "the page is blank"
        corners.append(float(pixels[2, 2, :3].mean()))
    assert corners[0] > 0.9
    assert corners[1] < 0.2
