import gc
import os
import subprocess
import sys

import pytest
import torch

from lipgnn import runtime
from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.runtime import PerGraph, module_command, one_thread


@pytest.fixture
def without_cuda(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)


@pytest.fixture
def with_cuda(monkeypatch):
    """A torch that says it has one CUDA device; DGL is as it is."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda k: "Some GPU")


def test_auto_says_why_it_chose_the_cpu(without_cuda):
    assert runtime.choose_device("auto") == (torch.device("cpu"), "this torch is a build without CUDA")


def test_auto_takes_a_device_that_torch_and_dgl_can_use(with_cuda, monkeypatch):
    monkeypatch.setattr(runtime, "cuda_obstacle", lambda index: None)
    assert runtime.choose_device("auto") == (torch.device("cuda", 0), "Some GPU is available")
    assert runtime.choose_device("cuda:0") == (torch.device("cuda", 0), "asked for")


@pytest.mark.parametrize("requested", ["cuda", "cuda:0"])
def test_cuda_is_never_silently_the_cpu(without_cuda, requested):
    with pytest.raises(EnvironmentBroken, match="build without CUDA") as caught:
        runtime.choose_device(requested)
    assert caught.value.exit_code == 5


def test_a_device_beyond_the_last_is_refused(with_cuda):
    with pytest.raises(EnvironmentBroken, match="only 1 CUDA device"):
        runtime.choose_device("cuda:3")


def test_a_dgl_without_cuda_is_told_apart_from_a_torch_without(with_cuda, monkeypatch):
    class Refusing:
        def to(self, device):
            raise runtime.dgl.DGLError("Device API cuda is not enabled.")

    monkeypatch.setattr(runtime.dgl, "graph", lambda edges: Refusing())
    with pytest.raises(EnvironmentBroken, match="this DGL is a build without CUDA"):
        runtime.choose_device("cuda")


@pytest.mark.parametrize("requested", ["gpu", "cuda:", "cuda:x", "cpu:1", "auto:0", ""])
def test_other_devices_are_refused_with_the_list(requested):
    with pytest.raises(UsageError, match="Unknown device"):
        runtime.choose_device(requested)


def test_a_seed_fixes_what_follows():
    runtime.seed_all(7)
    first = torch.rand(3)
    runtime.seed_all(7)
    assert torch.equal(torch.rand(3), first)


def test_one_thread_for_a_while_whatever_happens():
    torch.set_num_threads(3)
    try:
        with pytest.raises(ZeroDivisionError), one_thread():
            assert torch.get_num_threads() == 1
            raise ZeroDivisionError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(1)


def test_versions_are_read_without_importing():
    assert runtime.installed_version("torch") == torch.__version__
    assert runtime.installed_version("no-such-package-here") is None


def test_a_package_that_cannot_be_imported_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "dgl", None)
    with pytest.raises(EnvironmentBroken, match=r"Cannot import dgl .* beside torch") as caught:
        runtime._import("dgl")
    assert "Reinstall" in caught.value.hint


def test_other_attributes_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'tensorflow'"):
        runtime.tensorflow  # noqa: B018


def test_a_missing_package_is_a_problem(monkeypatch):
    monkeypatch.setattr(runtime, "PACKAGES", (*runtime.PACKAGES, "no-such-package-here"))
    problems = runtime.describe_environment()["problems"]
    assert [problem["what"] for problem in problems] == ["no-such-package-here is not installed."]


def test_a_dgl_that_imports_but_does_not_work_is_a_problem(monkeypatch):
    def unhappy(*args):
        raise OSError("undefined symbol")

    assert runtime.describe_environment()["dgl_fits_torch"]
    monkeypatch.setattr(runtime.dgl.ops, "copy_u_sum", unhappy)
    facts = runtime.describe_environment()
    assert not facts["dgl_fits_torch"]
    assert [problem["what"] for problem in facts["problems"]] == ["DGL cannot pass messages: undefined symbol."]


def test_the_environment_is_set_before_torch_is_imported():
    code = (
        "import lipgnn, os, sys; print(os.environ['DGLBACKEND'], os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pytorch", "PASSIVE", "False"]


def test_per_graph_is_made_once_for_a_graph_and_shared_by_its_local_copies(reference):
    calls = []
    edges_of = PerGraph(lambda graph: calls.append(graph) or graph.num_edges())
    graph = reference.small_graph()
    assert edges_of(graph) == edges_of(graph.local_var()) == graph.num_edges()
    assert len(calls) == 1


def test_per_graph_is_made_anew_when_the_graph_changes(reference):
    edges_of = PerGraph(lambda graph: graph.num_edges())
    graph = reference.small_graph()
    before = edges_of(graph)
    graph.add_edges(0, 3)
    assert edges_of(graph) == before + 1


def test_per_graph_goes_with_the_graph(reference):
    edges_of = PerGraph(lambda graph: graph.num_edges())
    graph = reference.small_graph()
    edges_of(graph)
    assert len(edges_of._made) == 1
    del graph
    gc.collect()
    assert not edges_of._made


def test_a_module_in_a_process_of_its_own_is_not_taken_from_the_working_folder(tmp_path):
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "tool.py").write_text("print('a trap')")
    command = module_command("json.tool", "--compact")
    done = subprocess.run(command, cwd=tmp_path, input="[1, 2]", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[1,2]\n"), done.stderr


def test_a_module_is_found_where_the_user_says(tmp_path):
    (tmp_path / "named.py").write_text("import sys; print(__name__, sys.argv[1:])")
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(module_command("named", "a", "b"), env=variables, capture_output=True, text=True)
    assert done.stdout == "__main__ ['a', 'b']\n"


class TestMembership:
    def test_nodes_of_a_batch_are_numbered_by_their_graphs(self, reference):
        graphs = [reference.build([(0, 0), (1, 0)], nodes=nodes) for nodes in (2, 4, 3)]
        members = runtime.members_of(runtime.dgl.batch(graphs))
        assert members.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]

    def test_what_the_nodes_say_comes_first(self, reference):
        graph = reference.build([(0, 0), (1, 0)], nodes=3)
        graph.ndata[runtime.MEMBERSHIP] = torch.tensor([1, 0, 1])
        assert runtime.members_of(graph).tolist() == [1, 0, 1]

    def test_one_graph_and_what_is_no_whole_graph_have_none(self, reference):
        graph = reference.build([(0, 0), (1, 0)], nodes=3)
        assert runtime.members_of(graph) is None
        assert runtime.members_of(runtime.dgl.to_block(graph)) is None
        assert runtime.members_of(None) is None


@pytest.mark.parametrize("culprit", ["graphbolt", "heart"])
def test_dgl_is_taken_without_graphbolt_where_that_alone_does_not_load(tmp_path, culprit):
    """As DGL 2.1 beside a newer torch, the only one for Python 3.12; a package made for the test stands in for it."""
    package = tmp_path / "dgl"
    for name in ("graphbolt", "heart"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("import no_such_module" if name == culprit else "beats = True")
    (package / "__init__.py").write_text("from . import heart, graphbolt")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from lipgnn.errors import EnvironmentBroken\n"
        "try:\n    from lipgnn.runtime import dgl; print(dgl.heart.beats)\n"
        "except EnvironmentBroken as error:\n    print(error.message)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert ("True" if culprit == "graphbolt" else "No module named 'no_such_module'") in found.stdout
