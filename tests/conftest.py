"""What all tests share: a clean environment, the program as a process, a small run, the dense references."""

import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from campaign import deselect, summarize
from parts import FIXTURES, PARTS, obstacle

ROOT = Path(__file__).parent.parent

# Before torch is imported: the tests are many and small, and run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption(
        "--must-have", action="append", default=[], choices=PARTS, help="fail, not skip, where this part is missing"
    )
    parser.addoption("--kills", type=int, default=200, help="how many kills the campaign (-m campaign) has, about")
    parser.addoption("--fuzz-seconds", type=float, default=300, help="how long its fuzzers go on, each")


def pytest_itemcollected(item):
    for fixture in FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.real(FIXTURES[fixture]))


def pytest_collection_modifyitems(config, items):
    deselect(config, items)


def pytest_terminal_summary(terminalreporter):
    summarize(terminalreporter)


def pytest_runtest_setup(item):
    for mark in item.iter_markers("real"):
        (part,) = mark.args
        if reason := obstacle(part):
            (pytest.fail if part in item.config.getoption("--must-have") else pytest.skip)(reason)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path_factory):
    """No variable of the developer's reaches a test, and nothing a test writes reaches the developer."""
    for name in list(os.environ):
        if name.startswith("LIPGNN_") and name != "LIPGNN_RAW_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path_factory.getbasetemp() / "no-data-here"))
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="session")
def root():
    """The top folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def reference():
    """The module references.py beside this file, loaded on first use because it imports torch."""
    spec = importlib.util.spec_from_file_location("references", Path(__file__).with_name("references.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def pyg():
    """The layers and norms of PyTorch Geometric, whose import warns of what it uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.nn
    return torch_geometric.nn


@pytest.fixture(scope="session")
def program():
    """The installed program, as arguments that run it with every warning an error."""
    script = shutil.which("lipgnn", path=Path(sys.executable).parent)
    assert script, "install the project first: pip install -e '.[test]'"
    return [sys.executable, "-W", "error", script]


@pytest.fixture(scope="session")
def launcher():
    """Starts commands of the program, see tests/support/launcher.py."""
    from launcher import Launcher

    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def lipgnn(program, tmp_path):
    """Run the program in an empty folder: lipgnn("train", "--layers", 2) -> CompletedProcess with text."""

    def run(*arguments, check=None, **variables):
        done = subprocess.run(
            [*program, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check is not None:
            assert done.returncode == check, done.stderr
        return done

    return run


@pytest.fixture
def invoke(capsys, monkeypatch, tmp_path):
    """Run the program in this process, in an empty folder: invoke("train", …) -> (exit code, stdout, stderr)."""
    from cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module", params=["dgl", "fused"])
def each_kernel(request):
    """Run the tests of a module with either kernel as the one that `auto` takes."""
    import torch

    from lipgnn.kernels import fused
    from lipgnn.nn import attention

    if request.param == "fused" and (obstacle := fused.obstacle(torch.device("cpu"))):
        pytest.skip(obstacle)
    original = attention.implementation
    with pytest.MonkeyPatch.context() as patch:
        chosen = {"auto": request.param}
        patch.setattr(attention, "implementation", lambda name, device: original(chosen.get(name, name), device))
        yield request.param


@pytest.fixture
def toys(monkeypatch):
    """A silent and a speaking layer, score norm and feature norm in the catalog, see tests/support/toys.py."""
    from toys import plug_in

    plug_in(monkeypatch)


@pytest.fixture
def small_spec():
    """A run of a few milliseconds an epoch, with everything that must survive a resume switched on."""
    from lipgnn.catalog import SUMS_RECIPE
    from lipgnn.spec.run import RunSpec

    changed = {"lr": 0.01, "epochs": 14, "patience": 0, "attn_dropout": 0.2, "schedule": "plateau"}
    return RunSpec(
        **{**SUMS_RECIPE, **changed},
        dataset="planted",
        layers=2,
        hidden=2,
        heads=2,
        norm="lip+batch",
        device="cpu",
    )


@pytest.fixture
def load_for():
    """The data set of a specification."""
    from lipgnn.tasks import load

    return lambda spec: load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)


@pytest.fixture(scope="session")
def result_row():
    """A run as results have it: result_row(norm="lip", seed=1, test_score=0.8); val_score is the same unless given."""
    from lipgnn.catalog import MEASURES, SUMS_RECIPE
    from lipgnn.files import sha256, to_json
    from lipgnn.spec.run import RunSpec

    def make(**values):
        spec = {**RunSpec(**SUMS_RECIPE, device="cpu").to_dict(), "fingerprint": "f" * 16, **values}
        accuracy = values.get("test_score", 0.5)
        return {
            **spec,
            "run_id": sha256(to_json(spec))[:12],
            "status": "done",
            "metric": "accuracy",
            "epochs_run": 20,
            "best_epoch": 10,
            "epochs_to_90": 5,
            "train_score": 1.0,
            "val_score": accuracy,
            "test_score": accuracy,
            "last_test_score": 0.5,
            "train_loss": 0.25,
            "val_loss": 0.75,
            "max_grad_norm": 1.5,
            "parameters": 1000,
            "seconds": 4.0,
            "seconds_per_epoch": 0.2,
            "peak_memory_mb": 300.0,
            "threads": 1,
            "version": "0.1.0",
            "command": f"lipgnn train --seed {spec['seed']}",
            **dict.fromkeys(("objective", "sent_mb", "dense_mb", *MEASURES)),
            **values,
        }

    return make


@pytest.fixture(scope="session")
def write_store():
    """Write rows as a store without the care that a real run takes: write_store(folder, rows) -> folder."""
    from lipgnn.files import to_json
    from lipgnn.results.store import Store

    def write(folder, rows):
        for row in rows:
            run = Store(folder).run(row["run_id"])
            run.path.mkdir(parents=True)
            run.spec_path.write_bytes(b"{}")
            run.result_path.write_bytes(to_json({"schema": 1, **row}))
        return folder

    return write


@pytest.fixture(scope="session")
def write_ogb():
    """Write a small folder as OGB unpacks them: write_ogb(folder, labels=…, features=None) -> folder.

    60 nodes, 4 classes, 8 features that tell the class, 177 directed edges and the split scheme "time". A keyword
    replaces a table (see below); None leaves its file out.
    """
    import gzip

    import numpy as np

    def write(folder, *, scheme="time", **changes):
        draw = np.random.RandomState(0)
        labels = np.arange(60) % 4
        edges = np.unique(draw.randint(0, 60, size=(2, 180)), axis=1).T
        tables = {
            "num_nodes": np.array([[60]]),
            "num_edges": np.array([[len(changes.get("edges", edges))]]),
            "edges": edges,
            "features": (np.eye(8)[labels] + draw.normal(scale=0.3, size=(60, 8))).round(4),
            "labels": labels[:, None],
            "edge_features": None,
            "train": np.arange(0, 36)[:, None],
            "valid": np.arange(36, 48)[:, None],
            "test": np.arange(48, 60)[:, None],
        }
        assert changes.keys() <= tables.keys()
        files = {
            "num_nodes": "raw/num-node-list",
            "num_edges": "raw/num-edge-list",
            "edges": "raw/edge",
            "features": "raw/node-feat",
            "labels": "raw/node-label",
            "edge_features": "raw/edge-feat",
            **{part: f"split/{scheme}/{part}" for part in ("train", "valid", "test")},
        }
        for name, rows in (tables | changes).items():
            if rows is None:
                continue
            path = folder / f"{files[name]}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            # OGB leaves the field of a missing label empty.
            lines = (",".join("" if value != value else f"{value:g}" for value in row) for row in rows)
            path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        return folder

    return write


@pytest.fixture
def serve():
    """A web server on this machine: serve({"/a.zip": content}) -> object with `url`, `requests` and `faults`.

    It knows ranges and versions as web servers do. `faults` are taken one a GET: a number ends the connection after
    so many bytes, "slow" sends nothing for a second, "plain" ignores the range, "wrong part" sends another one,
    "unsaid" says no length.
    """
    import http.server
    import threading
    import time
    from types import SimpleNamespace

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self._answer(body=False)

        def do_GET(self):
            self._answer(body=True)

        def _answer(self, *, body):
            state = self.server.state
            state.requests.append((self.command, self.path, self.headers.get("Range")))
            if self.path in state.redirects:
                return self._head(302, Location=state.redirects[self.path])
            if self.path not in state.files:
                return self._head(404)
            content = state.files[self.path]
            fault = state.faults.pop(0) if body and state.faults else None
            start, status, further = 0, 200, {"ETag": f'"{hash(content)}"'}
            ranged = self.headers.get("Range")
            if ranged and self.headers.get("If-Range") == further["ETag"] and fault != "plain":
                start, status = int(ranged.removeprefix("bytes=").removesuffix("-")), 206
                if start >= len(content):
                    return self._head(416, **{"Content-Range": f"bytes */{len(content)}"})
            first = 0 if fault == "wrong part" else start
            if status == 206:
                further["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            length = {} if fault == "unsaid" else {"Content-Length": len(content) - first}
            self._head(status, **length, **further)
            if fault == "slow":
                time.sleep(1)
            if body:
                self.wfile.write(content[first : first + fault] if isinstance(fault, int) else content[first:])

        def _head(self, status, **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, str(value))
            self.end_headers()

        def log_message(self, *arguments):
            pass

    servers = []

    def start(files):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.state = SimpleNamespace(
            url=f"http://127.0.0.1:{server.server_address[1]}", files=files, faults=[], redirects={}, requests=[]
        )
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return server.state

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def zip_folder():
    """Pack a folder as OGB does: zip_folder(folder, "arxiv") -> bytes of an archive whose top folder is "arxiv"."""
    import io
    import zipfile

    def pack(folder, top):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, f"{top}/{path.relative_to(folder)}")
        return buffer.getvalue()

    return pack
