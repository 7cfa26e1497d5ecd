import os
import subprocess
import sys

import pytest

from lipgnn.results.labels import add_labels
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec

MAIN = "from cli.main import main; main()"


def completed(words, folder):
    """What bash is told where the cursor stands behind the last word."""
    environment = {**os.environ, "_LIPGNN_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words)}
    environment["COMP_CWORD"] = str(len(words) - 1)
    done = subprocess.run(
        [sys.executable, "-c", MAIN], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(invoke, shell):
    code, out, _ = invoke("completion", shell)
    assert code == 0 and "_LIPGNN_COMPLETE" in out and "lipgnn" in out


def test_commands_options_names_and_runs_are_completed(tmp_path):
    run = Store(tmp_path / "results").run("ab2200000000")
    run.begin(RunSpec(), "f")
    add_labels(run.path, name="abiding")
    assert completed(["lipgnn", "rep"], tmp_path) == ["report"]
    assert completed(["lipgnn", "train", "--norm", "gra"], tmp_path) == ["graph"]
    assert completed(["lipgnn", "sweep", "--norm", "none,gra"], tmp_path) == ["none,graph"]
    assert completed(["lipgnn", "train", "--dataset", "pub"], tmp_path) == ["pubmed"]
    assert completed(["lipgnn", "evaluate", "ab"], tmp_path) == ["ab2200000000", "abiding"]
