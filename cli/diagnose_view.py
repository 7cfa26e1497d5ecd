"""How `lipgnn diagnose` shows what it found."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli import console
from cli.options import results_words
from lipgnn.catalog import METRICS
from lipgnn.diagnose.sent import silent_parts
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import as_typed, command_for

if TYPE_CHECKING:
    from lipgnn.diagnose.diagnosis import Diagnosis
    from lipgnn.diagnose.findings import Verdict

PICTURES = (".png", ".svg", ".pdf")
# As many rows of a table as are read at a glance.
MOST_ROWS = 17
# Three tables, so that each fits a terminal: title, and what is shown of a layer under which heading.
TABLES = (
    (
        "Gradients and features",
        {
            "grad_norm": "‖G‖",
            "grad_ratio": "μ(G)/‖G‖",
            "weight_grad": "‖∂W‖",
            "feat_norm": "‖X‖",
            "feat_ratio": "μ(X)/‖X‖",
        },
    ),
    (
        "What is left of the differences between nodes",
        {
            "dirichlet": "energy",
            "mad": "distance",
            "rank": "rank",
            "effective_rank": "effective",
            "rank1_residual": "residual",
            "contraction": "ratio",
        },
    ),
    (
        "Layers",
        {
            "skip_share": "skip",
            "entropy": "entropy",
            "saturated": "saturated",
            "bound": "bound",
            "empirical": "found",
        },
    ),
)
LEGEND = (
    "Row ℓ is of X, the output of layer ℓ (0: the input of the first), and of the gradient G of the loss there.",
    "distance: mean of 1 − cos between neighbours; residual: to one row per component; ratio: to the residual before.",
)


def show_diagnosis(diagnosis: Diagnosis, results: Path, *, everything: bool) -> None:
    """The verdict, the tables, and what to type next."""
    found, verdict, spec = diagnosis.to_dict(), diagnosis.verdict, diagnosis.subject.spec
    name = found["model"] or f"{spec.model}, {spec.layers} layers, norm {spec.norm}, {spec.dataset}"
    facts = [("verdict", verdict.words), *(("because", sentence) for sentence in verdict.evidence)]
    facts += [("try", f"{one.words}: {one.reason}") for one in verdict.options]
    console.print_panel(f"{name}, at {found['at']}", facts, good=not verdict.findings)
    rows = found["layers"]
    # Rows that were looked at closely, and the one that the verdict is about.
    close = [row for row in rows if row["rank"] is not None] or rows
    about = [row for row in rows if row["layer"] == found["from_layer"] and row not in close]
    shown = rows if everything else sorted(selection(close) + about, key=lambda row: row["layer"])
    for title, headings in TABLES:
        known = {key: heading for key, heading in headings.items() if any(row[key] is not None for row in rows)}
        if known:
            values = ([row["layer"], *(row[key] for key in known)] for row in shown)
            console.print_table(["layer", *known.values()], values, title=title)
    for line in _below(found, len(rows) - len(shown)):
        console.note(line)
    if "ablation" in found:
        _show_ablation(found["ablation"], found["spec"]["metric"])
    if "paths" in found:
        _show_paths(found["paths"])
    if "reach" in found:
        _show_reach(found["reach"])
    if "sent" in found:
        _show_sent(found["sent"])
    console.print_next(*_next(found["model"], verdict, spec, results_words(results)))


def show_epochs(found: Mapping[str, Any], table: Path | None, figure: Path | None, *, as_json: bool) -> None:
    """What changed while a run trained."""
    from lipgnn.diagnose.over import COLUMNS

    rows = found["epochs"]
    if table:
        _write_csv(table, rows)
    if figure:
        from lipgnn.report.figures import FIGURES
        from lipgnn.report.figures.figure import draw
        from lipgnn.report.figures.panel import Panel, Point, Series

        layers = [
            Series(
                str(layer), [Point(row["epoch"], math.log10(mu)) for row, mu in zip(rows, column, strict=True) if mu]
            )
            for layer, column in enumerate(zip(*found["grad_mu"], strict=True))
        ]
        panels = [Panel(f"run {found['run_id']}", layers)]
        _write(figure, draw(FIGURES["heat"], panels, "grad_mu", _suffix(figure)))
    if as_json:
        console.print_json(found)
        return
    shown = selection(rows)
    console.print_table(COLUMNS, ([row[name] for name in COLUMNS] for row in shown), title=f"Run {found['run_id']}")
    _note_left_out(len(rows) - len(shown), "epochs")


def write_files(found: Mapping[str, Any], table: Path | None, figure: Path | None) -> None:
    """The table as CSV and the figure, where they are asked for."""
    if table:
        _write_csv(table, found["layers"])
    if figure:
        spec = found["spec"]
        title = f"{spec['model']}, {spec['layers']} layers, {spec['dataset']}, at {found['at']}"
        _write(figure, _picture(found, title, _suffix(figure)))


def _picture(found: Mapping[str, Any], title: str, suffix: str) -> bytes:
    """How far the network looks, where that was asked for, and else its layers."""
    if "reach" in found:
        from lipgnn.report.figures.reach import draw_reach

        return draw_reach(found["reach"]["distances"], title, suffix)
    from lipgnn.report.figures.layers import draw_layers

    return draw_layers(found["layers"], title, suffix)


def selection(rows: Sequence[Any]) -> list[Any]:
    """At most MOST_ROWS rows, spread evenly with the first and the last."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    last = len(rows) - 1
    return [rows[round(index * last / (MOST_ROWS - 1))] for index in range(MOST_ROWS)]


def _below(found: Mapping[str, Any], left_out: int) -> list[str]:
    lines = list(LEGEND)
    if found["unbounded"]:
        lines.append(f"No bound is certified: {found['unbounded']}.")
    if left_out:
        lines.append(f"{left_out} layers are left out; --all measures and shows them.")
    return lines


def _note_left_out(count: int, what: str) -> None:
    if count:
        console.note(f"{count} {what} are left out; --json and --csv have them.")


def _show_ablation(variants: Sequence[Mapping[str, Any]], metric: str) -> None:
    words = METRICS[metric].words if metric in METRICS else "score"
    layers = len(variants[0]["residuals"]) - 1
    shown = sorted({round(share * layers) for share in (0, 0.25, 0.5, 0.75, 1)})
    columns = ["without", *variants[0]["accuracy"], *(f"residual {layer}" for layer in shown)]
    rows = (
        [" + ".join(one["off"]) or "nothing", *one["accuracy"].values(), *(one["residuals"][layer] for layer in shown)]
        for one in variants
    )
    console.print_table(
        columns, rows, title=f"The same weights with parts switched off: {words}, and residual by layer"
    )


def _show_paths(paths: Mapping[str, Any]) -> None:
    keys = ("length", "paths", "share", "size", "residual")
    rows = [[row[key] for key in keys] for row in selection(paths["lengths"])]
    rows.append(["biases", None, *(paths["bias"][key] for key in keys[2:])])
    console.print_table(keys, rows, title="The output as a sum over paths, by how many layers they take attention in")
    if paths["single"]:
        single = ([" ".join(map(str, row["heads"])), *(row[key] for key in keys[2:])] for row in paths["single"])
        console.print_table(["head of every layer", *keys[2:]], single, title="Single paths (0 is the skip)")


def ranges(last: int) -> list[tuple[int, int]]:
    """0, 1, 2, 3–4, 5–8 and so on, up to the last distance: the first and the last of each."""
    found, low = [(0, 0)], 1
    while low <= last:
        high = min(max(2 * (low - 1), 1), last)
        found.append((low, high))
        low = high + 1
    return found


def _show_sent(parts: Sequence[Mapping[str, Any]]) -> None:
    rows = [[part["part"], part["share"]] for part in parts]
    shown = [rows[0], *selection(rows[1:-1]), rows[-1]]
    console.print_table(["part", "share that was ever sent"], shown, title="Gradients")
    if sentence := silent_parts(parts):
        console.note(sentence)


def _show_reach(reach: Mapping[str, Any]) -> None:
    keys, by_distance = ("share", "walk", "nodes"), reach["distances"]
    rows = []
    for low, high in ranges(len(by_distance) - 1):
        those = by_distance[low : high + 1]
        sums = [None if those[0][key] is None else sum(one[key] for one in those) for key in keys]
        rows.append([str(low) if low == high else f"{low}–{high}", *sums])
    if reach["beyond"]:
        rows.append(["beyond", reach["beyond"], None, None])
    rows.append(["mean", reach["mean_distance"], reach["walk_distance"], None])
    title = f"How far it looks: the share of each distance in the outputs of {reach['targets']} nodes"
    console.print_table(["hops", *keys], rows, title=title)
    console.note("walk: the same of averaging over neighbours alone; nodes: how many there are; mean: in hops.")


def _next(model: str | None, verdict: Verdict, spec: RunSpec, store: list[str]) -> list[str]:
    if verdict.options:
        return [command_for(as_typed(spec).with_values(**verdict.options[0].values), *store)]
    if model is None:
        return [command_for(spec, *store)]
    return [shlex.join(["lipgnn", "evaluate", model, *store])]


def _suffix(figure: Path) -> str:
    if figure.suffix.lower() not in PICTURES:
        raise UsageError(f"--figure needs a file with {', '.join(PICTURES)}.", "For example: --figure layers.pdf")
    return figure.suffix.lower().removeprefix(".")


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    from lipgnn.report.view.formats import to_csv

    _write(path, to_csv(rows).encode())


def _write(path: Path, content: bytes) -> None:
    write_atomic(path, content)
    console.note(f"Written: {path}")
