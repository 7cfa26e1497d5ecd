"""What `lipgnn compress` shows: what every layer loses, and score against size."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli import console
from lipgnn.catalog import METRICS

if TYPE_CHECKING:
    from lipgnn.compress.curve import Curve
    from lipgnn.compress.effect import Standing

COLUMNS = (
    "shared_dim",
    "parameters",
    "query_key_parameters",
    "fit",
    "largest_error",
    "largest_logit_change",
    "metric",
    "train_score",
    "val_score",
    "test_score",
)


_FITTED = {"weights": "the weights of queries and keys", "data": "the scores on the data"}


def as_dict(found: Curve) -> dict[str, Any]:
    """All that was found, for JSON."""
    widths = [
        {
            **asdict(effect.standing),
            "layers": [
                {**asdict(layer), "logit_change": change}
                for layer, change in zip(effect.layers, effect.logit_changes, strict=True)
            ],
        }
        for effect in found.effects
    ]
    return {"fit": found.fit, "before": asdict(found.before), "uniform": asdict(found.uniform), "widths": widths}


def to_csv(found: Curve) -> bytes:
    """A row for the model as it was, one for it with uniform attention, and one for every width."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(found))
    return text.getvalue().encode()


def _rows(found: Curve) -> list[dict[str, Any]]:
    rows = [_row(found.before), _row(found.uniform)]
    for effect in found.effects:
        error, change = max(layer.error for layer in effect.layers), max(effect.logit_changes)
        own = {"fit": found.fit, "largest_error": error, "largest_logit_change": change}
        rows.append({**_row(effect.standing), **own})
    return rows


def _row(standing: Standing) -> dict[str, Any]:
    own = {name: value for name, value in asdict(standing).items() if name in COLUMNS}
    scores = {f"{part}_score": value for part, value in standing.scores.items()}
    return {**dict.fromkeys(COLUMNS), **own, **scores}


def show_one(about: dict[str, Any], found: Curve, trained: dict[str, Any] | None) -> None:
    """A table by layer and a summary, of one width; and what came of training it on, if that was done."""
    (effect,) = found.effects
    rows = [
        (layer.layer, layer.energy, layer.suggested, layer.error, change)
        for layer, change in zip(effect.layers, effect.logit_changes, strict=True)
    ]
    console.print_table(
        ("layer", "energy", "width for 99 %", "relative error", "largest change of a logit"),
        rows,
        title=f"Shared queries and keys of width {effect.standing.shared_dim}",
        below=(
            "Energy is the share of the stacked heads that as many dimensions hold; a logit is the log of a weight.",
            f"In every layer 99 % of the energy is within width {max(row[2] for row in rows)}.",
            f"The relative error is that of {_FITTED[found.fit]}.",
        ),
    )
    before, after, metric = found.before, effect.standing, METRICS[found.before.metric].words
    full = found.compressions[0].model.spec.width
    facts = [
        ("data set", f"{about['dataset']} ({about['fingerprint']})"),
        ("width", f"{after.shared_dim} of {full}"),
        ("parameters", _change(before.parameters, after.parameters)),
        ("query and key", _change(before.query_key_parameters, after.query_key_parameters)),
        *((f"{part} {metric}", _scores(value, after.scores[part])) for part, value in before.scores.items()),
        ("uniform attention", f"test {metric} {console.cell(found.uniform.scores['test'])}"),
    ]
    if trained:
        epochs = f"epoch {trained['best_epoch']} of {trained['epochs_run']}, run {trained['run_id']}"
        facts.append(("trained on", f"test {metric} {console.cell(trained['test_score'])} ({epochs})"))
    console.print_panel(about["model"], facts)


def show_curve(about: dict[str, Any], found: Curve) -> None:
    """Score against size, a row for every width."""
    left_out = ("fit", "metric")
    rows = [[value for name, value in row.items() if name not in left_out] for row in _rows(found)]
    rows[0][0], rows[1][0] = "heads apart", "uniform attention"
    headings = ("width", "parameters", "query and key", "largest error", "largest change of a logit")
    console.print_table(
        (*headings, "train", "val", "test"),
        rows,
        title=f"{about['model']} on {about['dataset']}: {METRICS[found.before.metric].words} against size",
        below=(f"The relative error is that of {_FITTED[found.fit]}; a logit is the log of an attention weight.",),
    )


def _change(before: int, after: int) -> str:
    return f"{before} → {after} ({after / before - 1:+.1%})"


def _scores(before: float | None, after: float | None) -> str:
    return f"{console.cell(before)} → {console.cell(after)}"
