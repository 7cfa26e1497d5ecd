import click
import pytest

from cli.options import GroupedCommand, debug_option, list_options, preset_option, spec_options, spec_options_but
from lipgnn.spec.options import GROUPS, default_of
from lipgnn.spec.run import FIELDS


@pytest.fixture
def command():
    return click.command()(spec_options(lambda **options: None))


def test_every_field_of_a_run_is_an_option_in_the_same_order(command):
    assert [option.name for option in command.params] == list(FIELDS)
    assert [option.opts for option in command.params] == [[f"--{name.replace('_', '-')}"] for name in FIELDS]


def test_help_shows_meaning_choices_and_default(command):
    for option in command.params:
        field = FIELDS[option.name]
        assert field.metadata["help"] in option.help
        assert f"[default: {default_of(field)}]" in option.help
        if "choices" in field.metadata:
            assert option.metavar == f"[{'|'.join(field.metadata['choices'])}]"


def test_an_option_not_given_is_none(command):
    with click.Context(command) as context:
        command.parse_args(context, ["--layers", "3"])
    assert context.params == {**dict.fromkeys(FIELDS), "layers": "3"}


def test_a_command_can_have_all_but_some_of_them():
    command = click.command()(spec_options_but("init", "seed")(lambda **options: None))
    assert [option.name for option in command.params] == [name for name in FIELDS if name not in ("init", "seed")]


def test_where_a_number_may_stand_the_help_says_so(command):
    metavars = {option.name: option.metavar for option in command.params}
    assert metavars["recompute_every"] == "[auto|N]"
    assert metavars["layer_weight_decay"] == "[same|X]"


def help_of(width, **settings):
    """The help of a command with an option of its own and those of a run, in so many columns."""
    options = debug_option(preset_option(spec_options(lambda **options: None)))
    command = click.command("probe", cls=GroupedCommand, **settings)(options)
    return command.get_help(click.Context(command, terminal_width=width))


def sections(text):
    """The lines of every section by its title."""
    found, title = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" ") and line.endswith(":"):
            title = line[:-1]
        elif title:
            found.setdefault(title, []).append(line)
    return found


@pytest.mark.parametrize("described", [True, False])
def test_help_shows_the_options_of_a_run_in_their_groups(described):
    found = sections(help_of(80, described=described))
    titles = [group.capitalize() for group in GROUPS]
    assert list(found) == ([*titles, "Output and files"] if described else ["Options", *titles])
    for name, field in FIELDS.items():
        flag = f"--{name.replace('_', '-')} "
        assert [title for title in found if any(flag in line for line in found[title] if line.startswith("  --"))] == [
            field.metadata["group"].capitalize()
        ]
    assert any("--preset" in line for line in found["Depth and norms"])
    assert any("--debug" in line for line in found["Output and files" if described else "Options"])


def test_described_help_has_every_choice_with_its_line(command):
    text = " ".join(help_of(80, described=True).split())
    for option in command.params:
        for name, entry in option.entries.items():
            assert f"{name} {' '.join(entry.description.split())}" in text, (option.name, name)
    assert {"model", "norm", "residual", "norm_place", "init", "stack", "kernel"} <= {
        option.name for option in command.params if option.entries
    }
    assert "graph attention" not in help_of(80)


def test_help_fits_80_columns():
    for described in (True, False):
        assert max(map(len, help_of(80, described=described).splitlines())) <= 80


def test_lists_are_announced():
    command = click.command()(list_options(lambda **options: None))
    assert all(option.metavar.endswith(",…") for option in command.params)
    assert {flag for option in command.params if option.name == "seed" for flag in option.opts} == {"--seed", "--seeds"}


def test_trackers_are_read_from_a_list_and_completed():
    from cli.train import command as train

    (option,) = (one for one in train.params if one.name == "log")
    context = click.Context(train)
    assert option.process_value(context, ("mlflow,tensorboard",)) == ("mlflow", "tensorboard")
    (found,) = option.shell_complete(context, "mlflow,tens")
    assert (found.value, found.help) == ("mlflow,tensorboard", "TensorBoard, as files in the folder of the run")
