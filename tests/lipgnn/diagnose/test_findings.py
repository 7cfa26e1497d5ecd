"""What is found, in the words of whoever reads it, and only options that a run can have."""

from lipgnn.diagnose.findings import HEALTHY, Finding, Option, Verdict, fitting
from lipgnn.spec.run import RunSpec


def test_options_are_said_as_they_are_typed_with_the_study_that_backs_them():
    option = Option({"weight_norm": "fix:4/L", "lr": "0.1"}, "helps", "deep")
    assert option.words == "--weight-norm fix:4/L --lr 0.1"
    assert (option.reason, Option({}, "helps").reason) == ("helps (study deep)", "helps")


def test_a_verdict_is_named_by_its_first_finding():
    findings = (Finding("vanishing", None, "small"), Finding("over-smoothed", 12, "alike"))
    verdict = Verdict(findings, (), ())
    assert (verdict.name, verdict.layer, verdict.words) == ("vanishing", None, "vanishing; over-smoothed from layer 12")
    nothing = Verdict((), (), ())
    assert (nothing.name, nothing.layer, nothing.words) == (HEALTHY, None, HEALTHY)


def test_what_a_run_has_already_or_cannot_have_is_left_out():
    spec = RunSpec(model="gcn", norm="none", lr=0.1)
    options = [Option({"lr": "0.1"}, ""), Option({"norm": "lip"}, ""), Option({"lr": "0.2"}, "")]
    assert fitting(options, spec) == options[2:]
    assert fitting(options, None) == options
