"""Results of runs that nobody computed."""

from lipgnn.results.columns import KINDS
from lipgnn.sweep.plan import PlannedRun

_VALUES = {str: "x", int: 1, float: 0.5}


def result_of(planned: PlannedRun, status: str = "done") -> dict:
    """A result of a planned run, whose every column has a value of its type."""
    values = {name: _VALUES[kind] for name, kind in KINDS.items()}
    return {**values, **planned.spec.to_dict(), "run_id": planned.run_id, "status": status}
