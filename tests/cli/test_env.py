import json

import pytest

from lipgnn import runtime
from lipgnn.kernels import native


def test_it_tells_versions_devices_and_paths(invoke, tmp_path):
    code, out, err = invoke("env", "--json")
    facts = json.loads(out)
    assert (code, err, facts["problems"]) == (0, "", [])
    assert set(facts["versions"]) == set(runtime.PACKAGES)
    assert facts["paths"]["results"] == str(tmp_path / "results")
    assert facts["threads"] >= 1
    assert {"usable", "reason", "torch_build", "devices"} == set(facts["cuda"])
    assert set(facts["kernels"]) == {"fused", "triton"}


def test_a_kernel_that_cannot_be_used_is_no_problem_and_has_its_reason(invoke, monkeypatch):
    monkeypatch.setattr(native, "library", lambda: (None, "it was not compiled"))
    code, out, _ = invoke("env")
    assert code == 0
    assert "kernel fused" in out and "no: it was not compiled" in out


def test_for_people_it_ends_with_a_verdict(invoke):
    code, out, err = invoke("env")
    assert code == 0
    assert "torch" in out and "dgl" in out
    assert err == "All is well.\n"


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_what_is_wrong_comes_with_its_remedy_and_exit_5(invoke, monkeypatch, flag):
    def broken(name):
        raise runtime.EnvironmentBroken("Cannot import dgl 9.9 beside torch 1.0: [/x].", "Reinstall.")

    monkeypatch.setattr(runtime, "_import", broken)
    code, out, err = invoke("env", *flag)
    assert code == 5
    assert "Cannot import dgl 9.9 beside torch 1.0: [/x]." in out + err
    assert "Reinstall." in out + err
