"""The programs are ones that Triton compiles for a GPU, which its interpreter does not show; no GPU is needed."""

import os
import subprocess
import sys

import pytest

# In a process of its own: the one of the tests has the interpreter's programs.
CODE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from lipgnn.kernels.triton import longest, passes

POINTERS = {"start": "*i64", "source": "*i32", "target": "*i32", "edge_id": "*i64", "longest_source": "*i32"}


def compiled(program, number, constants):
    types = {"seed": "i64", **POINTERS}
    signature = {name: "constexpr" if name in constants else types.get(name, number) for name in program.arg_names}
    source = ASTSource(program, signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 1})
    return len(made.asm["cubin"]) > 0


common = {"H": 3, "D": 12, "QUERY_STEP": 0, "KEY_STEP": 3, "BROAD": 16, "EDGES": 32}
additive = {"ADDITIVE": True, "SLOPE": 0.2, "W": 1, "WIDE": 1, "DROPPED": int(0.6 * 2**32), "GAIN": 2.5}
product = {"ADDITIVE": False, "SLOPE": 1.0, "W": 12, "WIDE": 16, "DROPPED": 0, "GAIN": 1.0}
done = 0
for number, form in (("*fp32", additive), ("*fp64", product)):
    for program in (passes.forward, passes.backward_targets, passes.backward_sources):
        done += compiled(program, number, {**common, **form})
for program in (longest._forward, longest._backward):
    done += compiled(program, "*fp64", {"H": 3, "EDGES": 32})
print(done)
"""


@pytest.mark.real("triton")
def test_triton_compiles_every_program(tmp_path):
    variables = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    variables.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-c", CODE], env=variables, capture_output=True, text=True)
    assert done.stdout == "8\n", done.stderr
