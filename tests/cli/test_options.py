import click
import pytest

from cli.options import spec_options, spec_options_but
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
        assert f"[default: {field.default}]" in option.help
        if "choices" in field.metadata:
            assert option.metavar == f"[{'|'.join(field.metadata['choices'])}]"


def test_an_option_not_given_is_none(command):
    with click.Context(command) as context:
        command.parse_args(context, ["--layers", "3"])
    assert context.params == {**dict.fromkeys(FIELDS), "layers": "3"}


def test_a_command_can_have_all_but_some_of_them():
    command = click.command()(spec_options_but("init", "seed")(lambda **options: None))
    assert [option.name for option in command.params] == [name for name in FIELDS if name not in ("init", "seed")]
