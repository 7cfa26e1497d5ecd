"""Everything is in setup.cfg but the compiled kernel, which is built where it is installed."""

import glob
import os
import platform

from setuptools import Extension, setup

FLAGS = ["-O3", "-std=c++17", "-fopenmp", "-fno-math-errno", "-Wno-psabi"]
LINKED = ["-fopenmp"]
if platform.machine() in ("x86_64", "AMD64"):
    # Not -march=native: a folder of packages may be shared by machines with different processors. Those without AVX2
    # are found out when the program runs (lipgnn/kernels/native.py).
    FLAGS += ["-mavx2", "-mfma"]
# "address,undefined" has the compiled code watch itself (tests/lipgnn/kernels/test_sanitized.py builds and runs it so).
if sanitizers := os.environ.get("LIPGNN_SANITIZE"):
    FLAGS += ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", f"-fsanitize={sanitizers}"]
    LINKED += [f"-fsanitize={sanitizers}"]

setup(
    ext_modules=[
        Extension(
            "lipgnn.kernels._native",
            sources=["lipgnn/kernels/native/library.cpp"],
            depends=sorted(glob.glob("lipgnn/kernels/native/*.h")),
            extra_compile_args=FLAGS,
            extra_link_args=LINKED,
            language="c++",
            # Without a compiler the program works all the same, with DGL's message passing.
            optional=not sanitizers,
        )
    ]
)
