"""`lipgnn diagnose`: what depth does to a network, layer by layer, and what to do about it."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.diagnose_view import show_diagnosis, show_epochs, write_files
from cli.evaluate import data_for
from cli.options import (
    GroupedCommand,
    config_option,
    debug_option,
    json_option,
    preset_option,
    results_option,
    spec_options_but,
)
from lipgnn.errors import UsageError
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve

if TYPE_CHECKING:
    from lipgnn.diagnose.data import WholeData
    from lipgnn.diagnose.paths import Part
    from lipgnn.network.deep import DeepGNN
    from lipgnn.tasks import TaskData

EPILOG = """\b
Examples:
  lipgnn diagnose 3f2a
  lipgnn diagnose 3f2a --ablate skip,norm --figure layers.pdf
  lipgnn diagnose 3f2a --over epochs --figure epochs.png
  lipgnn diagnose --init --layers 64 --residual identity --norm none
  lipgnn diagnose --init --layers 6 --activation none --norm none --paths 10 --json

RUN is an id, the start of one, or a folder. Without one, --init takes the options of `lipgnn train`; its value, if it
has one, is that option's.
"""

INITIAL, TRAINED = "initialization", "end of training"


@dataclass(frozen=True, eq=False)
class Subject:
    """What is diagnosed: a network, its run and data, whence it comes (None: new), and when it is looked at."""

    network: DeepGNN
    spec: RunSpec
    dataset: TaskData
    path: Path | None
    at: str


@click.command("diagnose", cls=GroupedCommand, epilog=EPILOG)
@click.argument("reference", metavar="[RUN|FILE]", required=False)
@click.option(
    "--init", is_flag=False, flag_value="", metavar="[NAME]", help="Before training: of a run, or of these options."
)
@click.option("--over", type=click.Choice(("epochs",)), help="How it went, from what `train --record similarity` kept.")
@click.option("--ablate", metavar="PART,…", help="Also without skip, mlp, norm: accuracy and residual.")
@click.option(
    "--paths",
    is_flag=False,
    flag_value="0",
    type=click.IntRange(min=0),
    metavar="[K]",
    help="The output by length of paths, and K paths alone.",
)
@click.option("--path-length", type=click.IntRange(min=0), metavar="N", help="Of the K paths.  [default: any]")
@click.option("--certify", is_flag=True, help="Also how much every layer really stretches, which takes longer.")
@click.option("--all", "everything", is_flag=True, help="Measure and show every layer of a deep network.")
@click.option("--csv", "table", type=click.Path(path_type=Path), metavar="FILE", help="Write the table as CSV.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@preset_option
@spec_options_but("init")
@config_option
@results_option
@json_option
@debug_option
def command(
    reference: str | None,
    init: str | None,
    over: str | None,
    ablate: str | None,
    paths: int | None,
    path_length: int | None,
    certify: bool,
    everything: bool,
    table: Path | None,
    figure: Path | None,
    config: Path | None,
    preset: str | None,
    results: Path,
    as_json: bool,
    **options: Any,
) -> int:
    """Look at a network layer by layer: gradients, similarity, rank, attention, bounds, and what they mean."""
    given = {name: value for name, value in options.items() if value is not None}
    if init:
        given["init"] = init
    _check_use(reference, init, {**given, "config": config, "preset": preset})
    if path_length is not None and not paths:
        raise UsageError("--path-length is of single paths.", "Say how many: --paths 10")
    if over:
        return _show_epochs(reference, Store(results), table, figure, as_json=as_json)
    if reference is None:
        subject = _new(resolve(given, os.environ, config, preset).spec)
    else:
        subject = _saved(reference, Store(results), initial=init is not None)
    diagnosis = _diagnose(subject, given.get("device", "auto"), certify=certify, every_layer=everything)
    parts = [part.strip() for part in ablate.split(",")] if ablate else []
    diagnosis |= _further(subject, diagnosis.pop("data"), parts, paths, path_length)
    write_files(diagnosis, table, figure)
    verdict = diagnosis.pop("judged")
    if as_json:
        console.print_json(diagnosis)
    else:
        show_diagnosis(diagnosis, verdict, subject.spec, results, everything=everything)
    return 0


def _check_use(reference: str | None, init: str | None, given: dict[str, Any]) -> None:
    if reference is None and init is None:
        raise UsageError(
            "There is nothing to diagnose.", "Give a run or a model file, or --init with the options of a run."
        )
    own = sorted(name for name, value in given.items() if value is not None and name != "device")
    if reference is not None and own:
        raise UsageError(
            f"A run has its own --{own[0].replace('_', '-')}.", "Leave it out, or leave out the run for a new network."
        )


def _saved(reference: str, store: Store, *, initial: bool) -> Subject:
    """The network of a run or file, or the one that its training began with."""
    from lipgnn.evaluate import model_path

    path = model_path(reference, store)

    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    dataset = data_for(saved, None, None)
    if initial:
        return Subject(_first_network(saved.spec, dataset), saved.spec, dataset, path, INITIAL)
    return Subject(saved.network, saved.spec, dataset, path, TRAINED)


def _new(spec: RunSpec) -> Subject:
    from lipgnn.tasks import load

    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    return Subject(_first_network(spec, dataset), spec, dataset, None, INITIAL)


def _first_network(spec: RunSpec, dataset: TaskData) -> DeepGNN:
    from lipgnn.runtime import seed_all
    from lipgnn.tasks import find_task

    seed_all(spec.seed)
    return find_task(dataset.task).network(spec, dataset.num_features, dataset.num_classes)


def _diagnose(subject: Subject, device: str, **how: bool) -> dict[str, Any]:
    from lipgnn.diagnose.data import WholeData
    from lipgnn.diagnose.profile import profile
    from lipgnn.diagnose.verdict import judge
    from lipgnn.runtime import choose_device

    chosen, _ = choose_device(device)
    data = WholeData.of(subject.spec, subject.dataset, chosen)
    found = profile(subject.network.to(chosen), data, **how)
    verdict = judge(
        found.layers,
        spec=subject.spec,
        second_eigenvalue=found.second_eigenvalue,
        components=found.components,
        accuracy=found.accuracy if subject.at == TRAINED else None,
    )
    return {
        "verdict": verdict.name,
        "from_layer": verdict.layer,
        "evidence": list(verdict.evidence),
        "findings": [asdict(finding) for finding in verdict.findings],
        "options": [{"option": o.words, "why": o.why, "study": o.study} for o in verdict.options],
        "model": None if subject.path is None else str(subject.path),
        "at": subject.at,
        "spec": subject.spec.to_dict(),
        "fingerprint": subject.dataset.fingerprint,
        "device": str(chosen),
        **asdict(found),
        "judged": verdict,
        "data": data,
    }


def _further(
    subject: Subject, data: WholeData, parts: list[str], paths: int | None, length: int | None
) -> dict[str, Any]:
    """What was asked for beside the profile."""
    further: dict[str, Any] = {}
    if parts:
        from lipgnn.diagnose.ablate import ablate

        further["ablation"] = [asdict(variant) for variant in ablate(subject.network, data, parts)]
    if paths is not None:
        from lipgnn.diagnose.paths import path_shares, single_paths

        where = (subject.network, data.graph, data.features)
        shares = path_shares(*where)
        single = single_paths(*where, count=paths, length=length) if paths else {}
        further["paths"] = {
            "lengths": [
                {"length": length, "paths": shares.counts[length], **_numbers(part)}
                for length, part in shares.lengths.items()
            ],
            "bias": _numbers(shares.bias),
            "error": shares.error,
            "single": [{"heads": list(path), **_numbers(part)} for path, part in single.items()],
        }
    return further


def _numbers(part: Part) -> dict[str, float | None]:
    """Those of a part of the output; a part that is zero has no residual."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(part).items()}


def _show_epochs(reference: str | None, store: Store, table: Path | None, figure: Path | None, *, as_json: bool) -> int:
    from lipgnn.diagnose.over import by_epoch, by_layer, recorded_similarity
    from lipgnn.results.store import Run

    if reference is None:
        raise UsageError("Only a run has epochs.", "Give its id.")
    path = Path(reference)
    run = Run(path) if path.is_dir() else store.find(reference)
    arrays = recorded_similarity(run)
    found = {"run_id": run.id, "epochs": by_epoch(arrays), **by_layer(arrays)}
    show_epochs(found, table, figure, as_json=as_json)
    return 0
