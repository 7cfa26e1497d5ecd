"""The weights that a run starts from where these are not drawn: a saved model, or a trained network compressed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator
from dataclasses import fields
from pathlib import Path
from typing import Any

from lipgnn.compress import compress_model
from lipgnn.errors import DataError, Interrupted, RunFailed, UsageError
from lipgnn.files import sha256
from lipgnn.results.claims import Held
from lipgnn.results.store import Store
from lipgnn.spec.network import NetworkSpec
from lipgnn.spec.run import RunSpec
from lipgnn.spec.start import COMPRESSED, SCRATCH, model_start
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.saved import SavedModel, Tensors, load_model, misfits
from lipgnn.training.events import Started
from lipgnn.training.selection import Epoch

# Between two looks at a run that somebody else computes.
_WAIT_SECONDS = 1.0

Computation = Generator[Started | Epoch, None, dict[str, Any]]


def starting_weights(
    spec: RunSpec,
    dataset: TaskData,
    store: Store,
    model: Path | None,
    compute: Callable[[RunSpec], Computation],
    should_stop: Callable[[], bool],
) -> Generator[Started | Epoch, None, Tensors | None]:
    """What a run starts from, and the events of the run that has to come before it; None for weights that are drawn.

    Parameters
    ----------
    dataset : what the run is trained on.
    model : the file that `spec.start` has the digest of, if it has one.
    compute : trains another run in the same store, or gives its result.
    should_stop : asked while another process computes the run that has to come before.

    Raises
    ------
    UsageError : there is no such file, or it is another model, or one of another network.
    DataError : the model cannot be read, or does not fit the data.
    RunFailed, Interrupted : the run that has to come before did not come to its end.
    """
    if spec.start == SCRATCH:
        return None
    if spec.start == COMPRESSED:
        source = yield from _trained(spec.plain, store, compute, should_stop)
        return compress_model(source, spec.shared_dim, seed=spec.seed).model.network.state_dict()
    given = _given(spec, model)
    weights = given.network.state_dict()
    make = find_task(dataset.task).network
    if problems := misfits(weights, functools.partial(make, spec, *dataset.shape)):
        if not misfits(weights, functools.partial(make, given.spec, *dataset.shape)):
            raise _other_network(given.spec, spec)
        raise DataError(
            f"The model {str(model)!r} does not fit the network of this run: {'; '.join(problems[:3])}.",
            "Use data of the shape that the model was trained on.",
        )
    return weights


def _other_network(own: RunSpec, asked: RunSpec) -> UsageError:
    """The error for options that make another network than a model has."""
    differ = [one.name for one in fields(NetworkSpec) if getattr(own, one.name) != getattr(asked, one.name)]
    has, wanted = (", ".join(f"{name} {getattr(spec, name)}" for name in differ) for spec in (own, asked))
    return UsageError(
        f"The model does not fit the network of this run: it has {has}, and this run {wanted}.",
        "Leave out the options of the network, which --from takes from the model.",
    )


def _trained(
    spec: RunSpec, store: Store, compute: Callable[[RunSpec], Computation], should_stop: Callable[[], bool]
) -> Generator[Started | Epoch, None, SavedModel]:
    """The model of another run, which is trained now if nobody has; whoever is at it is waited for."""
    while True:
        try:
            result = yield from compute(spec)
            break
        except Held:
            if should_stop():
                raise Interrupted(
                    "Stopped while waiting for the run to compress, which another process computes."
                ) from None
            time.sleep(_WAIT_SECONDS)
    if result["status"] != "done":
        raise RunFailed(
            f"Run {result['run_id']}, the network to be compressed, diverged ({result['diverged_at']}).",
            "Use --residual scaled, since no step was taken."
            if result.get("diverged_untrained")
            else "Use a smaller --lr, or --clip 1.",
        )
    return load_model(store.run(result["run_id"]).best_path)


def _given(spec: RunSpec, model: Path | None) -> SavedModel:
    if model is None:
        raise UsageError(f"The run starts from a model ({spec.start}) that was not given.", "Use --from RUN|FILE.")
    if (found := model_start(sha256(model.read_bytes()))) != spec.start:
        raise UsageError(f"{str(model)!r} is {found}, and the run starts from {spec.start}.", "Use --from RUN|FILE.")
    return load_model(model)
