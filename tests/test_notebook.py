"""The notebook beside this file: its cells run, and what they end with shows itself."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")
CELLS = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]

# Of the object that a cell ends with, what a notebook would show.
SHOW = """
def show(value):
    for name in ("_repr_html_", "_repr_png_"):
        if content := getattr(value, name, lambda: None)():
            shown.append((type(value).__name__, len(content)))
            return
    shown.append((type(value).__name__, repr(value)))
"""


def plain(cell):
    """A cell as plain Python that hands on what its last line is."""
    tree = ast.parse(cell)
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.parse(f"show({ast.unparse(tree.body[-1].value)})").body[0]
    return ast.unparse(tree)


def test_the_cells_run_one_after_the_other_and_show_what_they_end_with(tmp_path):
    code = "\n".join(["import json", "shown = []", SHOW, *map(plain, CELLS), "print(json.dumps(shown))"])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    kinds = [kind for kind, _ in shown]
    assert kinds == ["Source", "Run", "Run", "Figure", "Prediction", "Diagnosis", "Figure", "Table", "Figure"]
    assert shown[0][1].startswith("<cora: 2,708 nodes")
    assert all(size > 200 for _, size in shown[1:]), f"pages and pictures: {shown}"


def test_the_notebook_is_kept_without_outputs():
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.real("nbclient")
def test_the_notebook_runs_in_a_kernel(tmp_path):
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    done = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    types = [
        {kind for output in cell.outputs for kind in output.get("data", {})}
        for cell in done.cells
        if cell.cell_type == "code"
    ]
    assert sum("text/html" in each for each in types) >= 5 and sum("image/png" in each for each in types) == 3
    assert not any(output.output_type == "error" for cell in done.cells for output in cell.get("outputs", ()))
