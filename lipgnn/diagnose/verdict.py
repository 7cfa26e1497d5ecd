"""What the numbers of a profile mean, in plain words, with what is worth trying. No torch here.

The thresholds are ours. Each is far from what networks that train show, and far from what those show that do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lipgnn.catalog import AUTO_METRIC, METRICS
from lipgnn.diagnose.findings import Finding, Option, Verdict, fitting
from lipgnn.spec.run import RunSpec

# In networks that train, gradients at both ends are within a factor of about ten (Cora, 2 to 12 layers, when trained;
# any depth with bounded weights, at the start); one step size cannot serve layers a thousand times apart.
MOST_GROWTH = 1e3
LEAST_GROWTH = 1e-3
# Of the mean distance 1 − cos between neighbours, which goes with the square of the angle: a tenth of that is left.
# Training draws neighbours of one class together, though not as far: to 0.12 to 0.28 of it in the same networks.
SMOOTHED = 0.01
# Of the residual to one row a component: a hundredth of what told the nodes apart is left.
COLLAPSED = 0.01
# Of a network of many layers that looks no farther than a few hops on average, nor half as far as averaging over
# neighbours alone would: what its other layers do is not to look farther.
MANY_LAYERS = 8
FEW_HOPS = 2
# The gravest first. From one class nothing can be learned, whatever the network. What is not finite cannot be trained
# at all. Nodes that have become one cannot be told apart by any decoder, and their gradients are one as well, and
# small; so collapse is named before what follows from it. Where gradients do not reach the first layers, these learn
# nothing, smooth or not. Those of the run and of its split (`lipgnn.diagnose.course`, `lipgnn.diagnose.split`) stand
# where they do not hide a cause; a run that diverged has the remedies of its cause, which depth need not be.
VERDICTS = (
    "one-class",
    "diverged",
    "exploding",
    "collapsed",
    "vanishing",
    "over-smoothed",
    "undertrained",
    "missing-class",
    "leak",
)
# Verdicts on a number that falls from the first row to the last: which, to what share of it at most, and the evidence.
LOST = {
    "collapsed": (
        "rank1_residual",
        COLLAPSED,
        "What tells the nodes of a component apart falls from {:.3g} of the features to {:.3g}.",
    ),
    "over-smoothed": ("mad", SMOOTHED, "The mean distance 1 − cos between neighbours falls from {:.3g} to {:.3g}."),
}


_BOUNDED = Option(
    {"residual": "identity", "weight_norm": "fix:4/L"},
    "keeps what each of L layers can add in proportion to 4/L of its input, so that growth does not add up",
    "deep",
)
_SCALED = Option(
    {"residual": "scaled"}, "divides what a layer adds by √L, so that L layers weigh as much as one", "defaults"
)
_INITIAL = Option({"residual": "initial"}, "gives every layer the first features again, as GCNII does", "deep")
_PAIR = Option({"norm": "pair"}, "keeps the mean distance of all pairs of nodes as it was", "ablation")
_LIP = Option({"norm": "lip"}, "bounds the scores of the attention, and with them what it can amplify", "deep")
_MLP = Option({"mlp": "2x"}, "slows the loss of rank, which attention alone cannot undo", "rank")
_SKIP = Option({"residual": "identity"}, "leaves paths on which nothing is averaged, and with them the rank", "rank")
_CONTROL = Option({"weight_norm": "fix:4/L"}, "keeps gradients of residual networks from growing at all", "expansion")

OPTIONS = {
    "exploding": (_BOUNDED, _CONTROL, _SCALED, _LIP),
    "collapsed": (_SKIP, _MLP, _INITIAL),
    "vanishing": (_BOUNDED, _SCALED, _INITIAL),
    "over-smoothed": (_INITIAL, _SCALED, _PAIR),
}


def judge(
    rows: Sequence[Mapping[str, Any]],
    *,
    spec: RunSpec | None = None,
    second_eigenvalue: float | None = None,
    components: int | None = None,
    accuracy: Mapping[str, float | None] | None = None,
    reach: Mapping[str, Any] | None = None,
    further: Sequence[Finding] = (),
) -> Verdict:
    """The verdict on a profile.

    Smoothness and collapse are judged by what is left of the encoder's output, row 0, and only where they last to the
    end: data that are alike from the start are not the fault of depth.

    Parameters
    ----------
    rows : those of `profile`, L + 1 of them.
    spec : the run; options it has already, or cannot have, are then left out.
    second_eigenvalue, components : of the graph; evidence where rank is lost.
    accuracy : the metric by part of the split, of a network that was trained.
    reach : how far it looks, as `lipgnn.diagnose.reach` says it.
    further : what is wrong with the run and with its split.
    """
    found = [_exploding(rows), _lost(rows, "collapsed"), _vanishing(rows), _lost(rows, "over-smoothed")]
    of_depth = [finding for finding in found if finding]
    findings = tuple(sorted([*of_depth, *further], key=lambda finding: VERDICTS.index(finding.name)))
    names = [finding.name for finding in findings]
    evidence = [finding.evidence for finding in findings] + ([] if of_depth else [_all_is_well(rows)])
    if "collapsed" in names:
        evidence += _walk(rows, second_eigenvalue, components)
    evidence += _near(len(rows) - 1, reach) if reach else []
    if accuracy and accuracy.get("train") is not None:
        evidence.append(_success(accuracy, spec.metric if spec else "accuracy"))
    options = {option.words: option for one in findings for option in fitting(_options(one), spec)}
    return Verdict(findings, tuple(evidence), tuple(options.values()))


def _options(finding: Finding) -> tuple[Option, ...]:
    return finding.options or OPTIONS.get(finding.name, ())


def _exploding(rows: Sequence[Mapping[str, Any]]) -> Finding | None:
    for row in rows:
        if row["feat_norm"] is None:
            where = f"layer {row['layer']}" if row["layer"] else "the encoder"
            return Finding("exploding", row["layer"], f"The output of {where} is not finite.")
    bad = [row["layer"] for row in rows if row["grad_norm"] is None]
    if bad:
        return Finding("exploding", None, f"The gradient is not finite at the output of layer {max(bad)}, nor before.")
    last = rows[-1]["grad_norm"]
    largest = max(rows, key=lambda row: row["grad_norm"])
    if last and largest["grad_norm"] > MOST_GROWTH * last:
        return Finding("exploding", None, _change(rows[-1], largest, "grows"))
    return None


def _vanishing(rows: Sequence[Mapping[str, Any]]) -> Finding | None:
    known = [row for row in rows if row["grad_norm"] is not None]
    smallest = min(known, key=lambda row: row["grad_norm"], default=None)
    last = rows[-1]["grad_norm"]
    if last and smallest["grad_norm"] < LEAST_GROWTH * last:
        return Finding("vanishing", None, _change(rows[-1], smallest, "shrinks"))
    return None


def _lost(rows: Sequence[Mapping[str, Any]], name: str) -> Finding | None:
    """What depth has taken from the encoder's output to the end: a number of LOST below its share."""
    column, share, words = LOST[name]
    layer = _lasting(rows, column, share)
    return None if layer is None else Finding(name, layer, words.format(rows[0][column], rows[-1][column]))


def _lasting(rows: Sequence[Mapping[str, Any]], name: str, share: float) -> int | None:
    """The first layer, of those measured, from which on the number stays below its share of row 0; None if none is."""
    first = rows[0][name]
    if not first or rows[-1][name] is None:
        return None
    layer = None
    for row in reversed([row for row in rows[1:] if row[name] is not None]):
        if row[name] >= share * first:
            break
        layer = row["layer"]
    return layer


def _change(last: Mapping[str, Any], other: Mapping[str, Any], verb: str) -> str:
    times = other["grad_norm"] / last["grad_norm"]
    factor = f"{times:.2g} times" if times > 1 else f"to {times:.2g} of its length"
    where = f"layer {other['layer']}" if other["layer"] else "the first layer's input"
    return (
        f"The gradient {verb} {factor} on its way from the last layer to {where}, from {last['grad_norm']:.2g} to "
        f"{other['grad_norm']:.2g}."
    )


def _all_is_well(rows: Sequence[Mapping[str, Any]]) -> str:
    names = {
        "grad_norm": "the gradient at the first layer's input is {:.2g} times that at the last one's output",
        "mad": "the distance between neighbours is {:.2g} times that of the input",
        "rank1_residual": "what tells nodes apart is {:.2g} times that of the input",
    }
    sentences = []
    for name, words in names.items():
        above, below = (rows[0], rows[-1]) if name == "grad_norm" else (rows[-1], rows[0])
        if above[name] is not None and below[name]:
            sentences.append(words.format(above[name] / below[name]))
    return "Depth does no harm: " + "; ".join(sentences or ["there is nothing to compare"]) + "."


def _walk(rows: Sequence[Mapping[str, Any]], second_eigenvalue: float | None, components: int | None) -> list[str]:
    """How fast rows come together beside what averaging over neighbours alone would do."""
    late = [row["contraction"] for row in rows[len(rows) // 2 :] if row["contraction"]]
    if not late or second_eigenvalue is None:
        return []
    middle = sorted(late)[len(late) // 2]
    graph = f" of the largest of {components} components" if components and components > 1 else ""
    return [
        f"In the second half a layer leaves {middle:.3g} of the residual; averaging over neighbours alone leaves "
        f"λ₂ = {second_eigenvalue:.3g}{graph}."
    ]


def _near(layers: int, reach: Mapping[str, Any]) -> list[str]:
    """That many layers look hardly farther than a few hops, if they do."""
    distance, walk = reach["mean_distance"], reach["walk_distance"]
    if layers < MANY_LAYERS or distance is None or walk is None or distance > min(FEW_HOPS, walk / 2):
        return []
    return [
        f"Its {layers} layers look {distance:.2g} hops far on average, averaging over neighbours alone would look "
        f"{walk:.2g}: far nodes have little part in its output (study reach)."
    ]


def _success(scores: Mapping[str, float | None], metric: str) -> str:
    shares = {f"the {words} set": scores.get(part) for part, words in (("train", "training"), ("test", "test"))}
    told = {words: f"{share:.1%}" for words, share in shares.items() if share is not None}
    if metric in ("accuracy", AUTO_METRIC):
        return f"It is right on {' and on '.join(f'{share} of {words}' for words, share in told.items())}."
    parts = " and ".join(f"{share} on {words}" for words, share in told.items())
    return f"Its {METRICS[metric].words} is {parts}."
