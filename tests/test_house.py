"""The rules of the house, checked: layers of imports, mirrored tests, nothing that can run foreign code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(path for top in ("lipgnn", "cli") for path in (ROOT / top).rglob("*.py"))

# From the bottom up; a module imports from its own level or from below.
LEVELS = [
    ("lipgnn", "lipgnn.errors"),
    (
        "lipgnn.files",
        "lipgnn.catalog",
        "lipgnn.spec.rules",
        "lipgnn.spec.presets",
        "lipgnn.tasks.neighbors_match",
        "lipgnn.results.claims",
    ),
    ("lipgnn.spec.run", "lipgnn.runtime", "lipgnn.memory"),
    ("lipgnn.spec.sources", "lipgnn.spec.grid", "lipgnn.spec.study", "lipgnn.norms", "lipgnn.kernels"),
    ("lipgnn.nn",),
    ("lipgnn.network.deep", "lipgnn.network.build", "lipgnn.network.blocks", "lipgnn.network.hops", "lipgnn.network.recompute", "lipgnn.network.reversible"),
    (
        "lipgnn.tasks.batches",
        "lipgnn.datasets",
        "lipgnn.tasks.metrics",
        "lipgnn.results.store",
        "lipgnn.results.recordings",
        "lipgnn.training.recorders.gradients",
        "lipgnn.training.checkpoint",
        "lipgnn.measures.features",
        "lipgnn.measures.walk",
        "lipgnn.training.divergence",
        "lipgnn.training.optimizer",
        "lipgnn.training.memory",
        "lipgnn.training.state",
    ),
    (
        "lipgnn.training.loop",
        "lipgnn.evaluate",
        "lipgnn.certify",
        "lipgnn.diagnose",
        "lipgnn.sweep.plan",
        "lipgnn.report",
        "lipgnn.sweep.estimate",
        "lipgnn.results.archive",
    ),
    ("lipgnn.sweep.worker", "lipgnn.sweep.engines"),
    ("lipgnn.sweep.run", "lipgnn.bench"),
    ("cli",),
]
TORCH_FREE = ["lipgnn", "lipgnn.catalog", "lipgnn.spec.sources", "lipgnn.datasets", "lipgnn.runtime", "lipgnn.spec.run"]
TORCH_FREE += [
    "lipgnn.spec.presets",
    "lipgnn.results.store",
    "lipgnn.results.recordings",
    "lipgnn.spec.grid",
    "lipgnn.spec.study",
    "lipgnn.sweep.estimate",
    "lipgnn.results.archive",
    "lipgnn.sweep.plan",
    "lipgnn.sweep.run",
    "lipgnn.sweep.engines.ray",
    "lipgnn.sweep.engines.slurm",
    "lipgnn.bench.compare",
    "lipgnn.bench.graphs",
    "lipgnn.bench.start",
    "lipgnn.bench.store",
    "lipgnn.bench.sweep",
    "lipgnn.report.view.page",
    "lipgnn.report.view.blocks",
    "cli.main",
    "cli.train",
    "cli.sweep",
    "cli.bench",
    "cli.report",
    "cli.evaluate",
    "cli.diagnose",
    "cli.datasets",
    "cli.env",
]


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def level_of(module):
    matching = [
        (len(prefix), number)
        for number, level in enumerate(LEVELS)
        for prefix in level
        if module == prefix or (prefix != "lipgnn" and module.startswith(prefix + "."))
    ]
    assert matching, f"{module} has no place in LEVELS"
    return max(matching)[1]


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    own = level_of(name_of(path))
    for imported in imports_of(ast.parse(path.read_text())):
        if imported.split(".")[0] in ("lipgnn", "cli"):
            assert level_of(imported) <= own, f"{name_of(path)} imports {imported}, which lies above it"


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
