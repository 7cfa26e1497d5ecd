"""What `lipgnn report --study` takes from the study: its runs, and how they are laid out where no option says it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli import console

if TYPE_CHECKING:
    from lipgnn.results.rows import Results


def read_runs(
    name: str | None, scale: str | None, protocol: str | None, results: Path, sources: tuple[Path, ...]
) -> tuple[Results, dict[str, Any]]:
    """The results asked for, and the options of `report` that their study gives, with what its runs record.

    Parameters
    ----------
    name : of the study; without one, all runs of the sources, or of the store.

    Raises
    ------
    UsageError : an unknown study, scale or protocol, or nothing computed of it.
    """
    from lipgnn.results.archive import results_of_study
    from lipgnn.results.rows import read_results
    from lipgnn.spec.study import check_within_study, read_study

    check_within_study(name, scale, protocol)
    if name is None:
        return read_results(sources or [results]), {}
    study = read_study(name)
    found, choice = results_of_study(study, results, sources, scale=scale, protocol=protocol)
    value = study.values.get(choice.protocol) or study.report.get("value", "test_score")
    console.note(choice.heading)
    given = {"baseline": study.report.get("compare"), "value": value, "record": study.record}
    return found, {**study.report, **given}


def merge_conditions(given: tuple[str, ...], of_study: tuple[str, ...]) -> tuple[str, ...]:
    """Conditions `key=value` of the command line, and those of the study for other keys."""
    keys = {condition.partition("=")[0] for condition in given}
    return given + tuple(condition for condition in of_study if condition.partition("=")[0] not in keys)
