"""The rules of the house, checked: layers of imports, mirrored tests, nothing that can run foreign code."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for top in ("lipgnn", "cli") for path in (ROOT / top).rglob("*.py"))

# Who may import whom, room by room: each room and, from the bottom up, the rooms it may look into. What stands in the
# table earlier never looks into what stands later, so there are no cycles.
GROUND = ("errors", "words", "files", "memory", "runtime", "child", "catalog")
LOOKS_INTO = {
    "errors": (),
    "memory": (),
    "words": (),
    "files": ("errors",),
    "runtime": ("errors", "words", "memory"),
    "child": ("errors", "runtime"),
    "catalog": ("errors",),
    "groups": ("errors", "catalog"),
    "spec": GROUND,
    "norms": GROUND,
    "kernels": (*GROUND, "norms"),
    "walks": ("errors", "runtime", "kernels"),
    "nn": (*GROUND, "spec", "norms", "kernels"),
    "measures": (*GROUND, "norms", "kernels", "nn"),
    "datasets": (*GROUND, "spec"),
    "results": (*GROUND, "spec"),
    "network": (*GROUND, "spec", "norms", "kernels", "walks", "nn"),
    "tasks": (*GROUND, "groups", "spec", "walks", "nn", "network", "datasets"),
    "evaluate": (*GROUND, "spec", "nn", "measures", "network", "tasks", "datasets", "results"),
    "compress": (*GROUND, "spec", "norms", "nn", "network", "tasks", "evaluate"),
    "training": (
        *GROUND,
        *("spec", "norms", "kernels", "nn", "measures", "network", "tasks", "datasets", "results", "compress"),
    ),
    "certify": (*GROUND, "spec", "norms", "nn", "measures", "network", "tasks", "datasets"),
    "predict": (*GROUND, "spec", "nn", "network", "tasks", "datasets", "evaluate", "certify"),
    "export": (*GROUND, "spec", "tasks", "results", "evaluate"),
    "extrapolate": (*GROUND, "spec", "walks", "network", "tasks", "datasets"),
    "diagnose": (
        *GROUND,
        *("spec", "nn", "measures", "network", "tasks", "datasets", "results", "certify", "evaluate"),
    ),
    "report": (*GROUND, "spec", "results"),
    "trackers": (*GROUND, "spec", "network", "tasks", "results", "training", "diagnose", "report"),
    "sweep": (*GROUND, "spec", "tasks", "datasets", "results", "training", "trackers"),
    "api": (
        *GROUND,
        *("spec", "network", "tasks", "datasets", "results", "evaluate", "training", "predict", "export", "diagnose"),
        *("certify", "report", "trackers", "sweep"),
    ),
    "guide": GROUND,
    "bench": (*GROUND, "spec", "kernels", "nn", "tasks", "datasets", "results", "training", "diagnose"),
}
# What starts at once: help, plans and tables wait for neither torch nor pandas.
TORCH_FREE = [
    "lipgnn",
    "lipgnn.api",
    "lipgnn.catalog",
    "lipgnn.datasets",
    "lipgnn.guide",
    "lipgnn.runtime",
    "lipgnn.memory",
    "lipgnn.child",
    "lipgnn.tasks",
    "lipgnn.tasks.nodes",
    "lipgnn.tasks.labels",
    "lipgnn.tasks.trees",
    "lipgnn.tasks.paths",
    "lipgnn.tasks.images",
    "lipgnn.spec.run",
    "lipgnn.spec.sources",
    "lipgnn.spec.presets",
    "lipgnn.spec.grid",
    "lipgnn.spec.study",
    "lipgnn.spec.toml",
    "lipgnn.results.store",
    "lipgnn.results.rows",
    "lipgnn.results.recordings",
    "lipgnn.results.archive",
    "lipgnn.predict.writing",
    "lipgnn.diagnose.over",
    "lipgnn.diagnose.subject",
    "lipgnn.sweep.estimate",
    "lipgnn.sweep.plan",
    "lipgnn.sweep.prepare",
    "lipgnn.sweep.execute",
    "lipgnn.sweep.run",
    "lipgnn.sweep.engines.ray",
    "lipgnn.sweep.engines.slurm",
    "lipgnn.bench.compare",
    "lipgnn.bench.graphs",
    "lipgnn.bench.overhead",
    "lipgnn.report.figures",
    "lipgnn.report.request",
    "lipgnn.report.view.page",
    "lipgnn.report.view.page_tables",
    "cli.main",
    "cli.train",
    "cli.sweep",
    "cli.bench",
    "cli.compress",
    "cli.report",
    "cli.evaluate",
    "cli.predict",
    "cli.export",
    "cli.extrapolate",
    "cli.diagnose",
    "cli.datasets",
    "cli.env",
    "cli.guide",
    "cli.reference",
]


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree):
    """Every module that is imported anywhere in a file, but for those that only type checkers look at."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from lipgnn import catalog` imports a module, and so may `from lipgnn.spec import grid`.
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module)


def room_of(module):
    """The room, or the module of the ground floor, that a dotted name leads into; None for the package itself."""
    _, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    found = (ROOT / "lipgnn" / room).is_dir() or (ROOT / "lipgnn" / f"{room}.py").is_file()
    return room if room and found else None


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    name = name_of(path)
    if name.startswith("cli"):
        return
    own = room_of(name)
    assert own is None or own in LOOKS_INTO, f"{own} has no place in LOOKS_INTO"
    for imported in imports_of(ast.parse(path.read_text())):
        assert imported.split(".")[0] != "cli", f"{name} imports {imported}"
        if imported.startswith("lipgnn.") and (room := room_of(imported)) not in (None, own):
            assert own is not None, f"{name} imports {imported}: the package itself imports nothing"
            assert room in LOOKS_INTO[own], f"{name} imports {imported}, into which {own} may not look"


def test_rooms_have_no_cycles():
    """Each may look into what stands before it in the table alone; that is an order."""
    known = []
    for room, allowed in LOOKS_INTO.items():
        assert set(allowed) <= {*known, *GROUND} - {room}, room
        known.append(room)
    assert known[:7] == ["errors", "memory", "words", "files", "runtime", "child", "catalog"]


def test_few_modules_stand_outside_the_rooms():
    loose = [path.name for path in (ROOT / "lipgnn").glob("*.py") if path.name != "__init__.py"]
    assert len(loose) <= 8, loose


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_edges_touch_what_belongs_there(path):
    name = name_of(path)
    imported = {module.split(".")[0] for module in imports_of(ast.parse(path.read_text()))}
    if name.startswith("lipgnn"):
        assert not imported & {"click", "rich"}
    if name not in ("cli.console", "cli.progress"):
        assert "rich" not in imported
    assert "dgl" not in imported, "DGL is imported by lipgnn.runtime alone"


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=name_of)
def test_every_module_has_its_test_file(path):
    mirrored = ROOT / "tests" / path.relative_to(ROOT).with_name(f"test_{path.name}")
    assert mirrored.exists(), f"missing {mirrored.relative_to(ROOT)}"


FORBIDDEN = {"eval", "exec", "pickle.load", "pickle.loads", "torch.load", "yaml.load", "os.system", "print"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_can_run_foreign_code(path):
    """The one unpickler there is subclasses pickle.Unpickler and is restricted; see lipgnn.datasets.formats.pickles."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if name_of(path) == "cli.console" and called == "print":
                continue
            assert called not in FORBIDDEN, f"{called} in line {node.lineno}"
            for keyword in node.keywords:
                truth = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                assert not (keyword.arg in ("allow_pickle", "shell") and truth), f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and node.attr == "Unpickler":
            assert name_of(path) == "lipgnn.datasets.formats.pickles"


@pytest.mark.parametrize("module", TORCH_FREE)
def test_what_must_start_at_once_does_not_import_torch(module):
    code = f"import sys, {module}; sys.exit(' '.join({{'torch', 'dgl', 'pandas', 'ogb'}} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_module_imports_without_a_warning():
    names = " ".join(name_of(path) for path in MODULES)
    code = f"import importlib; [importlib.import_module(name) for name in '{names}'.split()]"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_top_level_is_what_was_agreed():
    allowed = {"setup.cfg", "setup.py", "lipgnn", "cli", "tests", "data", "results", "README.md", "LICENSE"}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} <= allowed


LONGEST_FILE = 300
LONGEST_FUNCTION = 45
# Functions that are longer, each with its reason; whoever makes one shorter takes its line away.
LONG_FUNCTIONS = {
    "cli.bench.options.comparison_options": "a list of options, each on its lines",
    "lipgnn.api.arrays.from_arrays": "most of it says what its parameters are, with an example",
    "lipgnn.api.diagnosing.diagnose": "most of it says what its parameters are, with an example",
    "lipgnn.api.evaluating.evaluate": "most of it says what its parameters are, with an example",
    "lipgnn.api.libraries.from_dgl": "most of it says what its parameters are, with an example",
    "lipgnn.api.libraries.from_pyg": "most of it says what its parameters are, with an example",
    "lipgnn.api.libraries.from_networkx": "most of it says what its parameters are, with an example",
    "lipgnn.api.model.Model.predict": "most of it says what its parameters are, with an example",
    "lipgnn.api.reporting.report": "most of it says what its parameters are, with an example",
    "lipgnn.api.sweeping.sweep": "most of it says what its parameters are, with an example",
    "lipgnn.api.training.train": "most of it says what its parameters are, with an example",
    "lipgnn.certify.certificate.certify": "half of it says what its parameters are",
    "lipgnn.certify.empirical.largest_stretch": "half of it is the argument why its answer is a bound",
    "lipgnn.kernels.triton.passes.forward": "a program of Triton's, whose loop shares all of its variables",
    "lipgnn.kernels.triton.passes.backward_targets": "a program of Triton's, whose loop shares all of its variables",
    "lipgnn.kernels.triton.passes.backward_sources": "a program of Triton's, whose loop shares all of its variables",
    "lipgnn.training.loop.train": "half of it says what its parameters are",
}


def functions_of(node, prefix):
    """Every function below a node of a tree, with its dotted name."""
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
        yield from functions_of(child, name)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_short(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE


def test_a_function_fits_on_a_screen_or_has_its_reason():
    """From `def` to the last line, docstring included, decorators left out."""
    lengths = {
        name: node.end_lineno - node.lineno + 1
        for path in MODULES
        for name, node in functions_of(ast.parse(path.read_text()), name_of(path))
    }
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION}
    assert {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS} == {}
    assert LONG_FUNCTIONS.keys() - long.keys() == set(), "these are not long any more"


@pytest.mark.parametrize("word", [r"is_trees", r"\bLATER\b", r"_acc\b"])
def test_nothing_is_left_of_what_went(word):
    """Tasks know what trees are, rows have one form, and scores name their metric."""
    texts = {
        path: path.read_text()
        for top in ("lipgnn", "cli")
        for path in (ROOT / top).rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".csv", ".html", ".cpp")
    }
    assert len(texts) > len(MODULES)
    texts |= {path: path.read_text().partition("\n")[0] for path in (ROOT / "results").rglob("*.csv")}
    assert [str(path.relative_to(ROOT)) for path, text in sorted(texts.items()) if re.search(word, text)] == []
