"""What `lipgnn compress` shows: what every layer loses, and score against size."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli import console
from lipgnn.catalog import METRICS

if TYPE_CHECKING:
    from lipgnn.compress.effect import Effect, Standing

COLUMNS = (
    "shared_dim",
    "parameters",
    "query_key_parameters",
    "largest_error",
    "largest_logit_change",
    "metric",
    "train_score",
    "val_score",
    "test_score",
)


def as_dict(before: Standing, uniform: Standing, effects: list[Effect]) -> dict[str, Any]:
    """All that was found, for JSON."""
    widths = [
        {
            **asdict(effect.standing),
            "layers": [
                {**asdict(layer), "logit_change": change}
                for layer, change in zip(effect.layers, effect.logit_changes, strict=True)
            ],
        }
        for effect in effects
    ]
    return {"before": asdict(before), "uniform": asdict(uniform), "widths": widths}


def to_csv(others: list[Standing], effects: list[Effect]) -> bytes:
    """A row for the model as it was, one for it with uniform attention, and one for every width."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(others, effects))
    return text.getvalue().encode()


def _rows(others: list[Standing], effects: list[Effect]) -> list[dict[str, Any]]:
    rows = [_row(one) for one in others]
    for effect in effects:
        error, change = max(layer.error for layer in effect.layers), max(effect.logit_changes)
        rows.append({**_row(effect.standing), "largest_error": error, "largest_logit_change": change})
    return rows


def _row(standing: Standing) -> dict[str, Any]:
    own = {name: value for name, value in asdict(standing).items() if name in COLUMNS}
    scores = {f"{part}_score": value for part, value in standing.scores.items()}
    return {"largest_error": None, "largest_logit_change": None, **own, **scores}


def show_one(about: dict[str, Any], others: list[Standing], effect: Effect, full_width: int) -> None:
    """A table by layer and a summary, of one width."""
    rows = [
        (layer.layer, layer.energy, layer.suggested, layer.error, change)
        for layer, change in zip(effect.layers, effect.logit_changes, strict=True)
    ]
    console.print_table(
        ("layer", "energy", "width for 99 %", "relative error", "largest change of a logit"),
        rows,
        title=f"Shared queries and keys of width {effect.standing.shared_dim}",
        below=(
            "Energy is the share of the stacked heads that as many dimensions hold; a change is of log attention.",
            f"In every layer 99 % of the energy is within width {max(row[2] for row in rows)}.",
        ),
    )
    (before, uniform), after = others, effect.standing
    metric = METRICS[before.metric].words
    facts = [
        ("data set", f"{about['dataset']} ({about['fingerprint']})"),
        ("width", f"{after.shared_dim} of {full_width}"),
        ("parameters", _change(before.parameters, after.parameters)),
        ("query and key", _change(before.query_key_parameters, after.query_key_parameters)),
        *((f"{part} {metric}", _scores(value, after.scores[part])) for part, value in before.scores.items()),
        ("with uniform attention", f"test {metric} {console.cell(uniform.scores['test'])}"),
    ]
    console.print_panel(about["model"], facts)


def show_curve(about: dict[str, Any], others: list[Standing], effects: list[Effect]) -> None:
    """Score against size, a row for every width."""
    rows = [[row[name] for name in COLUMNS if name != "metric"] for row in _rows(others, effects)]
    rows[0][0], rows[1][0] = "heads apart", "uniform attention"
    headings = ("width", "parameters", "query and key", "largest error", "largest change of a logit")
    console.print_table(
        (*headings, "train", "val", "test"),
        rows,
        title=f"{about['model']} on {about['dataset']}: {METRICS[others[0].metric].words} against size",
    )


def _change(before: int, after: int) -> str:
    return f"{before} → {after} ({after / before - 1:+.1%})"


def _scores(before: float | None, after: float | None) -> str:
    return f"{console.cell(before)} → {console.cell(after)}"
