import json
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

import lipgnn as package
from cli.main import COMMANDS, program
from lipgnn.catalog import MODELS
from lipgnn.errors import EnvironmentBroken


def walk(group, path=()):
    """Every command and sub-command with its words."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from walk(command, (*path, name))


def test_the_version_is_the_package_s(invoke):
    assert invoke("--version") == (0, f"lipgnn, version {package.__version__}\n", "")


def test_alone_it_prints_help_with_lines_to_copy(invoke):
    code, out, _ = invoke()
    assert code == 0
    assert "lipgnn train --layers 30 --norm lip" in out
    assert all(name in out for name in COMMANDS)


def test_the_list_of_commands_cuts_no_sentence_short(invoke, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in invoke()[1].partition("Commands:")[2]


def test_short_and_long_help_are_the_same(invoke):
    assert invoke("train", "-h") == invoke("train", "--help")


@pytest.mark.parametrize(
    "words, command", [pytest.param(words, command, id=" ".join(words)) for words, command in walk(program)]
)
def test_every_command_says_what_it_does(words, command):
    assert command.help and command.help.strip().endswith(".")
    if len(words) == 1:
        assert "Examples:" in command.epilog


EXAMPLES = [
    line.strip().removeprefix("lipgnn ")
    for command in [program, *(command for _, command in walk(program))]
    for line in (command.epilog or "").splitlines()
    if line.startswith("  lipgnn ")
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_of_a_help_text_can_be_typed(line):
    words = shlex.split(re.split(" [>|] ", line)[0])
    found = program
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        with click.Context(found) as context:
            found = found.get_command(context, words.pop(0))
    # With the settings of the program: a command keeps the help option that it is first asked for.
    found.make_context(found.name, words, parent=click.Context(program, **program.context_settings))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["train", "--help"],
        ["datasets", "list"],
        ["train", "--print-config"],
        ["guide"],
        ["guide", "depth"],
        ["trian"],
    ],
)
def test_what_needs_no_torch_does_not_import_it(program, arguments, tmp_path):
    code = (
        "import sys; from cli.main import run; run(sys.argv[1:]); "
        "sys.exit(bool({'torch', 'dgl', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, f"imported torch, dgl or pandas\n{done.stderr}"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["trian"], f"Did you mean 'train'? Valid: {', '.join(COMMANDS)}."),
        (["train", "--layrs", "3"], "--layers"),
        (["train", "--dataset", "coar"], "Did you mean 'cora'?"),
        (["train", "--model", "gta"], f"Valid: {', '.join(MODELS)}."),
        (["train", "--norm", "lib"], "Did you mean 'lip'?"),
        (["train", "--layers", "many"], "layers must be a whole number, got 'many'. (from flag)"),
        (["train", "--device", "gpu"], "Valid: auto, cpu, cuda, cuda:0."),
        (["train", "--dataset", "planted", "--split", "publik"], "publik"),
        (["train", "--config", "none.toml"], "none.toml"),
        (["evaluate", "ffff"], "No run 'ffff'"),
        (["datasets", "show", "coar"], "Did you mean 'cora'?"),
    ],
)
def test_wrong_use_is_exit_2_with_a_remedy_and_no_traceback(invoke, tmp_path, arguments, message):
    code, out, err = invoke(*arguments)
    assert code == 2
    assert message in err
    assert out == ""
    assert "Traceback" not in err
    assert list(tmp_path.rglob("result.json")) == []


def test_an_internal_error_is_one_sentence_and_a_traceback_on_request(invoke, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("boom [/red]")

    monkeypatch.setattr("lipgnn.runtime.describe_environment", broken)
    code, _, err = invoke("env")
    assert code == 1
    assert "Internal error, ZeroDivisionError: boom [/red]" in err
    assert "Traceback" not in err
    assert "Traceback" in invoke("env", "--debug")[2]


def test_ctrl_c_is_exit_130(invoke, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("lipgnn.runtime.describe_environment", interrupted)
    assert invoke("env")[0] == 130


@pytest.mark.parametrize("command", ["train", "sweep"])
def test_a_second_ctrl_c_says_how_to_go_on(invoke, monkeypatch, command):
    def interrupted(*given, **further):
        raise KeyboardInterrupt

    monkeypatch.setattr("lipgnn.tasks.load", interrupted)
    monkeypatch.setattr("lipgnn.sweep.plan.fingerprint_of", interrupted)
    code, _, err = invoke(command, "--dataset", "planted", "--layers", 2, "--force")
    assert code == 130 and "goes on from its last checkpoint" in err
    assert f"lipgnn {command} --dataset planted --layers 2\n" in err


def test_a_broken_environment_is_exit_5(invoke, monkeypatch, tmp_path):
    def broken(requested):
        raise EnvironmentBroken("DGL cannot be imported.", "Reinstall it.")

    monkeypatch.setattr("lipgnn.training.loop.choose_device", broken)
    code, _, err = invoke("train", "--dataset", "planted")
    assert (code, err.count("\n")) == (5, 2)
    assert not list(tmp_path.rglob("claim"))


@pytest.mark.parametrize("arguments", [("show", "cora", "--json"), ("show", "cora"), ("verify", "planted"), ("path",)])
def test_a_reader_that_leaves_early_is_no_error(program, tmp_path, arguments):
    process = subprocess.Popen(
        [*program, "datasets", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert b"Traceback" not in err and b"Exception ignored" not in err


def test_every_command_runs_with_every_warning_an_error(invoke, tmp_path):
    """In one fresh process, which imports what the commands need as they need it, under -W error."""
    small = ("--dataset", "planted", "--layers", 2, "--epochs", 2)
    run = json.loads(invoke("train", *small, "--json")[1])
    copy = invoke("datasets", "path", "cora")[1].strip()
    commands = [
        ("env",),
        ("datasets", "list"),
        ("datasets", "show", "pubmed"),
        ("datasets", "verify"),
        ("datasets", "import", copy, "--name", "copy"),
        ("train", *small, "--seed", 1),
        ("train", *small, "--model", "gt", "--norm", "lip+pair", "--schedule", "cosine"),
        ("evaluate", run["run_id"]),
    ]
    code = "import json, sys; from cli.main import run; print([run(words) for words in json.loads(sys.argv[1])])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, json.dumps([[str(word) for word in words] for words in commands])],
        cwd=tmp_path,
        env={**os.environ, "LIPGNN_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1:] == [str([0] * len(commands))], done.stderr
    assert "Warning" not in done.stderr
