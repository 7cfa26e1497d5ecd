import json

import pytest

RUN = ("train", "--dataset", "planted", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 5, "--json", "-q")
BOUNDED = ("--residual", "identity", "--norm", "lip", "--weight-norm", "fix:0.1")


@pytest.fixture
def train(invoke):
    """train(*options) -> the id of the run."""
    return lambda *options: json.loads(invoke(*RUN, *options)[1])["run_id"]


def test_a_certificate_as_tables_and_as_json(invoke, train):
    run = train(*BOUNDED)
    code, out, _ = invoke("evaluate", run, "--certify", "--tries", 1)
    assert code == 0
    for words in ("Lipschitz constants", "network", "Certified at", "Attacked at", "Half of the test nodes keep"):
        assert words in out
    code, out, _ = invoke("evaluate", run, "--certify", "--tries", 0, "--radii", "1e-9,10", "--json")
    found = json.loads(out)["certificate"]
    assert code == 0
    assert [(row["radius"], row["certified"]) for row in found["radii"]] == [(1e-9, 1), (10, 0)]
    assert len(found["layers"]) == 2 and found["attack"]["tries"] == 0
    assert found["verdict"].startswith("Half of the test nodes keep")


def test_without_a_bound_the_reason_is_shown_and_no_attack(invoke, train):
    code, out, _ = invoke("evaluate", train("--norm", "none"), "--certify")
    assert code == 0
    assert "plain attention is not Lipschitz: use --norm lip" in out
    assert "Attacked at" not in out


def test_a_bound_too_large_to_be_written_is_a_power_of_ten(capsys):
    from cli.certificate import show_certificate

    network = {"encoder": 1.0, "decoder": 1.0, "bound": None, "log10_bound": 401.7, "empirical": 2.0}
    attack = {"tries": 0, "flipped": 0, "multiples": []}
    show_certificate({"network": network, "layers": [], "radii": [], "attack": attack, "verdict": "Vacuous."})
    out = capsys.readouterr().out
    assert "10^401.7" in out and out.endswith("Vacuous.\n")


def test_certificates_are_no_part_of_an_evaluation_that_did_not_ask(invoke, train):
    assert "certificate" not in json.loads(invoke("evaluate", train(), "--json")[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--radii", "1e-3"), "Add --certify"),
        (("--tries", 3), "Add --certify"),
        (("--certify", "--radii", "a,b"), "positive numbers"),
        (("--certify", "--radii", "1,-2"), "positive numbers"),
        (("--certify", "--radii", "inf"), "positive numbers"),
        (("--certify", "--tries", "-1"), "--tries"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_anything_is_read(invoke, options, words):
    code, out, err = invoke("evaluate", "no-such-run", *options)
    assert (code, out) == (2, "")
    assert words in err
