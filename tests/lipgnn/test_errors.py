import pytest

from lipgnn import errors


@pytest.mark.parametrize(
    "kind, code",
    [("RunFailed", 1), ("UsageError", 2), ("DataError", 4), ("EnvironmentBroken", 5), ("Interrupted", 130)],
)
def test_every_kind_has_its_exit_code(kind, code):
    error = getattr(errors, kind)("what", "do this")
    assert isinstance(error, errors.LipgnnError)
    assert (error.exit_code, error.message, error.hint, str(error)) == (code, "what", "do this", "what")


def test_unknown_name_lists_all_and_suggests_the_nearest():
    error = errors.unknown_name("norm", "lib", ["none", "lip", "pair"])
    assert error.exit_code == 2
    assert "'lib'" in error.message
    assert error.hint == "Did you mean 'lip'? Valid: none, lip, pair."


@pytest.mark.parametrize(
    "received, valid, near",
    [
        ("lipschitz", "none, lip", "lip"),
        ("transformer", "gat, gt", None),
        ("zzz", "none, lip", None),
        ("nope", "ablation, compress", None),
        ("compres", "ablation, compress", "compress"),
    ],
)
def test_unknown_name_suggests_nothing_far_fetched(received, valid, near):
    hint = errors.unknown_name("norm", received, valid.split(", ")).hint
    assert hint == (f"Did you mean {near!r}? Valid: {valid}." if near else f"Valid: {valid}.")


def test_a_refusal_names_its_source():
    with pytest.raises(errors.UsageError) as caught, errors.naming("variable LIPGNN_LR"):
        raise errors.UsageError("lr must be a number, got 'x'.", "Give one.")
    assert (caught.value.message, caught.value.hint) == (
        "lr must be a number, got 'x'. (from variable LIPGNN_LR)",
        "Give one.",
    )
