"""Where the values of a run come from: flag, environment, file, saved model, preset, data set, and so on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from lipgnn.catalog import MODELS, OPTIMIZERS, SUMS_RECIPE, fitting_norm, task_of
from lipgnn.errors import naming, unknown_name
from lipgnn.spec.presets import preset_values
from lipgnn.spec.run import FIELDS, HOW, RunSpec, parse_value
from lipgnn.spec.start import COMPRESSED, SCRATCH
from lipgnn.spec.toml import read_toml

ENVIRONMENT_PREFIX = "LIPGNN_"
# Variables of the same prefix that are not fields of a run.
PATH_VARIABLES = ("LIPGNN_DATA", "LIPGNN_CACHE", "LIPGNN_OGB_URL", "LIPGNN_RESULTS", "LIPGNN_LOG")


@dataclass(frozen=True)
class Resolved:
    """A complete run specification and, for every field, where its value came from."""

    spec: RunSpec
    sources: dict[str, str]

    def to_toml(self) -> str:
        """The specification as a TOML file with the source of every value as a comment."""
        document = tomlkit.document()
        document.add(tomlkit.comment("A complete run; use it with `lipgnn train --config FILE`."))
        for name, value in self.spec.to_dict().items():
            if value is None:
                continue
            item = tomlkit.item(value)
            # Names of files may have line breaks, which would end a comment.
            item.comment(" ".join(self.sources[name].split()))
            document.add(name, item)
        return tomlkit.dumps(document)


def resolve(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Path | None = None,
    preset: str | None = None,
    base: tuple[Mapping[str, Any], str] | None = None,
) -> Resolved:
    """Merge the places a value can come from; an explicit value always beats a default.

    Parameters
    ----------
    flags : values given on the command line, only those given.
    environ : the process environment; `LIPGNN_<FIELD>` sets a field.
    config : a TOML file with fields as keys.
    preset : a name among PRESETS.
    base : values of another run that hold where nothing else is said, and where they come from.

    Raises
    ------
    UsageError : an unknown key, name or a wrong value, with the place it came from.
    """
    chosen = _said(
        base or ({}, ""),
        (read_toml(config, "configuration") if config else {}, f"file {config}"),
        *_from_environment(environ),
        (flags, "flag"),
    )

    def given(name: str) -> Any:
        return chosen[name][0] if name in chosen else FIELDS[name].default

    dataset = given("dataset")
    if own := task_of(dataset).model:
        chosen.setdefault("model", (own, f"default of data set {dataset}"))
    for defaults, source in _defaults(given, preset):
        for name, value in defaults.items():
            if name == "norm":
                # What suits the data may be for scores that the layer does not have.
                value = fitting_norm(value, MODELS[given("model")].attention)
            chosen.setdefault(name, (value, source))
    for name, own in _following(given).items():
        chosen.setdefault(name, own)
    spec = RunSpec(**{name: value for name, (value, _) in chosen.items()})
    return Resolved(spec, {name: chosen[name][1] if name in chosen else "built-in" for name in FIELDS})


def _said(*places: tuple[Mapping[str, Any], str]) -> dict[str, tuple[Any, str]]:
    """The values of all places that say any, and which said it; the later one wins."""
    chosen = {}
    for values, source in places:
        for name, value in values.items():
            if name not in FIELDS:
                raise unknown_name(f"option in {source}", name, FIELDS)
            with naming(source):
                chosen[name] = (parse_value(name, value), source)
    return chosen


def _defaults(given: Callable[[str], Any], preset: str | None) -> list[tuple[Mapping[str, Any], str]]:
    """The places that have defaults for the options given, the first that has one decides, and their names."""
    dataset, model = given("dataset"), given("model")
    entry = MODELS[model]
    places = [
        (task_of(dataset).defaults(dataset, model), f"default of data set {dataset}"),
        (entry.defaults, f"default of model {model}"),
    ]
    if entry.closed:
        # Such layers go with nothing but their own recipe, whatever suits the data.
        places.reverse()
    if preset:
        places.insert(0, (preset_values(preset, model, given("layers")), f"preset {preset}"))
    if not (entry.value_map and given("stack") == "plain"):
        # The built-in values are GCNII's recipe, whose residual connection is not for these networks.
        places.append((SUMS_RECIPE, "recipe sums"))
    optimizer = given("optimizer")
    return [*places, (OPTIMIZERS[optimizer].defaults, f"default of optimizer {optimizer}")]


def _following(given: Callable[[str], Any]) -> dict[str, tuple[Any, str]]:
    """Defaults that follow from the network that all the others give."""
    found = {}
    if MODELS[given("model")].linear_skip and given("residual") == "initial":
        # The first features are what passes a layer by; with a way of its own past it, 16 layers of gt lose 25 points.
        found["skip"] = ("none", "default of residual initial")
    if given("encoder") == "none":
        found["encoder_activation"] = ("none", "default of encoder none")
    return found


def command_for(spec: RunSpec, *further: str) -> str:
    """The shortest `lipgnn train` command that gives `spec`, only what differs from the defaults; then `further`."""
    given = {name: getattr(spec, name) for name in ("dataset", "model", "stack", "optimizer")}
    defaults = resolve(given, {}).spec.to_dict()
    words = ["lipgnn", "train", "--dataset", spec.dataset]
    for name, value in spec.to_dict().items():
        # Where and how a run was computed is the affair of whoever types the command again.
        if name == "dataset" or name in HOW:
            continue
        # Of `given` these are not always named, though they decide about defaults.
        unusual = name in ("stack", "optimizer") and value != FIELDS[name].default
        if name in ("model", "layers", "norm", "seed") or unusual or value != defaults[name]:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, *further])


def as_typed(spec: RunSpec) -> RunSpec:
    """The run by options alone: from scratch where it starts from a saved model, which no option can name."""
    return spec if spec.start in (SCRATCH, COMPRESSED) else spec.with_values(start=SCRATCH)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables that look as if they were meant for this tool and are not."""
    known = {ENVIRONMENT_PREFIX + name.upper() for name in FIELDS} | set(PATH_VARIABLES)
    return sorted(name for name in environ if name.startswith(ENVIRONMENT_PREFIX) and name not in known)


def _from_environment(environ: Mapping[str, str]) -> list[tuple[dict[str, str], str]]:
    """Every variable that sets a field is a place of its own, so that errors name it."""
    variables = {name: ENVIRONMENT_PREFIX + name.upper() for name in FIELDS}
    return [({name: environ[one]}, f"variable {one}") for name, one in variables.items() if one in environ]
