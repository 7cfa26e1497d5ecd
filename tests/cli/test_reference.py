"""Every command and every option is documented once: by its help, which the page `commands` of the guide repeats."""

import re
import subprocess
import sys

import click
import pytest

from cli.main import program
from cli.options import GroupedOption
from cli.reference import commands, reference
from lipgnn.guide import TOPICS, read
from lipgnn.spec.run import FIELDS

KNOWN = {" ".join(words): command for words, command in commands(program)}
PAGE = read("commands").text
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:])
OPTIONS = [
    pytest.param(words, option, id=f"{words} {max(option.opts, key=len)}")
    for words, command in KNOWN.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def listed(section):
    """The flags that a section has a line for, each as often as it has one."""
    lines = re.findall(r"^- `([^`]*)`", SECTIONS.get(section, ""), flags=re.MULTILINE)
    return [flag for line in lines for flag in re.findall(r"--[a-z0-9-]+", line)]


def test_the_page_is_what_the_program_says():
    """Fix it by `python -m cli.reference > lipgnn/guide/commands.md`."""
    assert reference() == PAGE


def test_the_module_prints_the_page(root):
    done = subprocess.run([sys.executable, "-m", "cli.reference"], cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, PAGE), done.stderr


@pytest.mark.parametrize("words", KNOWN)
def test_every_command_is_introduced_by_one_heading_of_the_guide(words):
    headings = [line for topic in TOPICS for line in re.findall(r"^#+ (.*)$", read(topic).text, flags=re.MULTILINE)]
    assert headings.count(words) == 1
    assert KNOWN[words].help.strip().split("\n\n")[0].split("\n")[0].strip() in SECTIONS[words]


def test_the_page_introduces_nothing_else():
    assert set(SECTIONS) == {*KNOWN, "Options of several commands", "Options of a run"}


@pytest.mark.parametrize("words, option", OPTIONS)
def test_every_option_says_what_it_does(words, option):
    text = re.sub(r"\[.*?\]", "", option.help or "").strip()
    assert len(text.split()) >= 3, "an option without a help text of three words"
    assert text[0].isupper() and text.endswith("."), "a help text is a sentence"
    assert not re.match(r"(Of|That|Those|As in|Also of|Its)\b", text), "a help text that nobody understands alone"


@pytest.mark.parametrize("words, option", OPTIONS)
def test_every_option_has_one_place_on_the_page(words, option):
    """In the section of its command, or among those of several with the command named beside it."""
    flag, (_, top, *rest) = option.opts[0], words.split()
    if isinstance(option, GroupedOption):
        assert listed("Options of a run").count(flag) == 1
        return
    line = re.compile(rf"^- `[^`]*{re.escape(flag)}\b(?!-)[^`]*`(?: \((.*?)\))?: (.*)$", flags=re.MULTILINE)
    found = [text for _, text in line.findall(SECTIONS[words])]
    for section, name in (("Options of several commands", " ".join([top, *rest])), (f"lipgnn {top}", " ".join(rest))):
        users = [] if section == words else line.findall(SECTIONS[section])
        found += [text for named, text in users if {name, "every command"} & {*re.split(", | and ", named)}]
    assert len(found) == 1
    assert found[0].startswith(" ".join(option.help.split()))


def test_the_options_of_a_run_are_its_fields_and_the_preset():
    flags = [f"--{name.replace('_', '-')}" for name in FIELDS]
    assert sorted(listed("Options of a run")) == sorted(["--preset", *flags])
