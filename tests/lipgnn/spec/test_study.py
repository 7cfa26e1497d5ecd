from functools import cache

import pytest

from cli.report import FIGURES
from lipgnn.errors import UsageError
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.papers import read_papers
from lipgnn.results.recordings import RECORDS
from lipgnn.spec.run import RunSpec
from lipgnn.spec.study import FOLDER, SCALES, identity, read_study, study_names, study_of
from lipgnn.spec.toml import read_toml

CONTENT = {
    "title": "A trial",
    "record": ["gradients"],
    "report": {"rows": "norm", "best": ["layers"], "value": "val_score"},
    "grid": {"seed": [0, 1]},
    "zip": {"model": ["gcn", "gat", "gat"], "norm": ["none", "none", "lip"]},
    "fixed": {"epochs": 9},
    "small": [
        {"grid": {"dataset": ["cora", "citeseer"], "layers": [2, 4]}},
        {"fixed": {"dataset": "pubmed", "layers": 2}, "zip": {"model": ["gat"], "norm": ["lip"]}},
    ],
    "paper": [{"grid": {"dataset": ["cora", "pubmed"], "layers": [2, 4, 8]}, "fixed": {"epochs": 99}}],
    "protocol": {"a": {"features": "raw", "value": "last_test_score"}, "b": {"features": "row"}},
}


@pytest.fixture
def study():
    return study_of("trial", CONTENT)


def runs(choice, **lists):
    return choice.runs({}, lists)[0]


@cache
def shipped(name):
    """A study that ships, and its runs by scale and protocol: up to thousands, which several tests look at."""
    study = read_study(name)
    return study, {choice: runs(choice) for choice in study.choices()}


def test_the_parts_of_a_scale_are_laid_over_what_is_common(study):
    small = runs(study.choose())
    assert len(small) == 2 * 3 * 2 * 2 + 2
    assert {(r.dataset, r.model, r.norm, r.layers) for r in small if r.dataset == "pubmed"} == {
        ("pubmed", "gat", "lip", 2)
    }
    assert {r.epochs for r in small} == {9}
    paper = runs(study.choose("paper"))
    assert (len(paper), {r.epochs for r in paper}) == (2 * 3 * 2 * 3, {99})


def test_blocks_lie_between_what_is_common_and_a_part():
    blocks = {
        "wide": {"fixed": {"hidden": 64, "epochs": 5}},
        "pairs": {"zip": {"model": ["gcn", "gat"], "norm": ["none", "lip"]}, "fixed": {"hidden": 16}},
    }
    own = {"grid": {"layers": [2, 4]}, "fixed": {"lr": 0.5}}
    parts = [{"blocks": ["wide", "pairs"], **own}, {"blocks": "wide", **own, "fixed": {"hidden": 8}}, own]
    both, one, none = (
        runs(study_of("trial", {**CONTENT, "block": blocks, "small": [part], "paper": [own]}).choose())
        for part in parts
    )
    written_out = {"zip": blocks["pairs"]["zip"], **own, "fixed": {"hidden": 16, "epochs": 5, "lr": 0.5}}
    assert both == runs(study_of("trial", {**CONTENT, "small": [written_out]}).choose())
    assert {(run.hidden, run.epochs) for run in one} == {(8, 5)}
    assert {run.epochs for run in none} == {9}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": {"wide": 5}}, "Block 'wide' of study 'trial' is no table"),
        ({"block": {"wide": {"fixed": {"hiden": 5}}}}, "Unknown option of a sweep 'hiden'"),
        ({"block": {"wide": {"fix": {}}}}, "Unknown table in block 'wide' of study 'trial' 'fix'"),
        ({"block": {"wide": {}}, "small": [{"blocks": ["wyde"]}]}, "Unknown block in .* 'wyde'"),
        ({"small": [{"blocks": [5]}]}, "'blocks' in .* must be a text, got 5"),
    ],
)
def test_a_block_that_cannot_be_used(change, message):
    with pytest.raises(UsageError, match=message):
        study_of("trial", {**CONTENT, **change})


@pytest.mark.parametrize("name", study_names())
def test_every_block_of_a_study_is_shared(name):
    content = read_toml(FOLDER / f"{name}.toml", "study")
    used = [block for scale in SCALES for part in content.get(scale, []) for block in part.get("blocks", [])]
    assert {block for block in used if used.count(block) > 1} == set(content.get("block", {}))


def test_a_protocol_sets_options_of_every_run(study):
    assert {r.features for r in runs(study.choose())} == {"raw"}
    assert {r.features for r in runs(study.choose("paper", "b"))} == {"row"}
    assert study.values == {"a": "last_test_score"}
    assert study.choose(protocol="b").words() == ["--study", "trial", "--scale", "small", "--protocol", "b"]
    assert study.choose(protocol="b").heading == "Study trial (small, b): A trial"


def test_the_rest_of_a_study(study):
    assert (study.title, study.record) == ("A trial", ("gradients",))
    assert study.report == {"rows": ("norm",), "best": ("layers",), "value": "val_score"}
    assert [(c.scale, c.protocol) for c in study.choices()] == [
        ("small", "a"),
        ("small", "b"),
        ("paper", "a"),
        ("paper", "b"),
    ]


def test_a_default_is_a_value_of_the_parts_that_do_not_name_it():
    content = {"fixed": {"dataset": "cora"}, "small": [{"fixed": {"lr": 0.1}}, {"fixed": {"attn_dropout": 0.6}}]}
    choice = study_of("trial", content).choose()
    assert [(run.lr, run.attn_dropout) for run in runs(choice, attn_dropout=[0.0])] == [(0.1, 0.0)]
    assert [(run.lr, run.attn_dropout) for run in runs(choice, attn_dropout=[0.6])] == [(RunSpec().lr, 0.6)]
    assert [run.attn_dropout for run in runs(choice, attn_dropout=[0.3])] == [0.3, 0.3]
    assert [run.edge_dropout for run in runs(choice, edge_dropout=[0.0])] == [0.0, 0.0]


def test_a_preset_gives_what_the_study_does_not_say():
    study = study_of("trial", {"preset": "sums", "fixed": {"dataset": "cora", "lr": 0.1}})
    (run,) = runs(study.choose())
    assert (run.lr, run.residual, run.activation) == (0.1, "scaled", "elu")
    assert next(iter(study.choose().identities())) == identity(run.to_dict())
    with pytest.raises(UsageError, match="Unknown preset of study 'trial' 'sum'"):
        study_of("trial", {"preset": "sum"})


def test_values_the_study_has_restrict_it_and_others_replace(study):
    """Restricted parts may vanish, and partners stay together; a new value is taken by every part."""
    small = study.choose()
    assert {r.dataset for r in runs(small, dataset=["cora"])} == {"cora"}
    assert {r.model for r in runs(small, norm=["lip"])} == {"gat"}
    assert len(runs(small, dataset=["cora"], norm=["lip"])) == 4
    assert {(r.dataset, r.layers) for r in runs(small, layers=[7])} == {("cora", 7), ("citeseer", 7), ("pubmed", 7)}
    assert {r.lr for r in runs(small, lr=[0.5])} == {0.5}


def test_a_plain_grid_has_neither_scales_nor_protocols():
    plain = study_of("plain", {"grid": {"layers": [2, 3]}})
    choice = plain.choose()
    assert (choice.scale, choice.protocol, choice.words()) == (None, None, ["--study", "plain"])
    assert len(runs(choice)) == 2
    for kind in ("scale", "protocol"):
        with pytest.raises(UsageError, match=f"Study 'plain' has no {kind}s"):
            plain.choose(**{kind: "small"})


@pytest.mark.parametrize("options, near", [({"scale": "smal"}, "small"), ({"protocol": "aa"}, "a")])
def test_unknown_scales_and_protocols_are_refused(study, options, near):
    with pytest.raises(UsageError) as caught:
        study.choose(**options)
    assert f"Did you mean {near!r}" in caught.value.hint


@pytest.mark.parametrize(
    "content, message",
    [
        ({"smal": []}, "Did you mean 'small'"),
        ({"small": {"grid": {}}}, "[[small]] of study 'trial' is no list of parts"),
        ({"small": []}, "is no list of parts"),
        ({"small": [{"gird": {}}]}, "Did you mean 'grid'"),
        ({"small": [{"grid": {"layrs": [1]}}]}, "Did you mean 'layers'"),
        ({"zip": {"lr": [1, 2]}, "small": [{"zip": {"seed": [1]}}]}, "as many values each"),
        ({"report": {"row": ["norm"]}}, "Did you mean 'rows'"),
        ({"report": {"rows": [1]}}, "'rows' in study 'trial' must be a text, got 1"),
        ({"report": 3}, "'report' in study 'trial' is no table"),
        ({"protocol": {"a": {"featurs": "raw"}}}, "Did you mean 'features'"),
        ({"protocol": {"a": {"features": "rw"}}}, "Unknown value of features 'rw'"),
        ({"protocol": {"a": 1}}, "Protocol 'a' of study 'trial' is no table"),
        ({"title": ["x"]}, "'title' in study 'trial' must be a text"),
    ],
)
def test_a_wrong_study_is_refused(content, message):
    with pytest.raises(UsageError) as caught:
        study_of("trial", content)
    assert message in f"{caught.value.message} {caught.value.hint}"


def test_identity_is_what_is_computed_and_not_how():
    spec = RunSpec(seed=3)
    same = spec.with_values(kernel="dgl", device="cpu").to_dict()
    assert identity(spec.to_dict()) == identity(same)
    assert identity(spec.to_dict()) != identity(spec.with_values(seed=4).to_dict())
    assert identity({**same, "run_id": "ab"}) == identity(same)


def test_unknown_studies_are_refused():
    with pytest.raises(UsageError, match="Unknown study 'frist'"):
        read_study("frist")


@pytest.mark.parametrize("name", study_names())
def test_every_study_that_ships_has_runs_at_every_scale(name):
    study, planned = shipped(name)
    sizes = [len(specs) for specs in planned.values()]
    assert all(sizes)
    if study.parts.keys() != {None}:
        assert list(study.parts) == [scale for scale in SCALES if scale in study.parts]
        assert {"small", "decide"} & study.parts.keys()
        assert study.title
        assert sizes[-1] >= sizes[0], "the full protocol is no smaller"


@pytest.mark.parametrize("name", study_names())
def test_what_a_study_asks_of_runs_and_reports_is_known(name):
    study = read_study(name)
    assert {*study.record} <= {*RECORDS}
    assert study.report.get("figure") in (None, *FIGURES)
    papers = [entry.paper for entry in read_papers()]
    assert all(any(paper.startswith(name) for paper in papers) for name in study.report.get("papers", ()))
    values = {study.report.get("value", "test_score"), *study.values.values()}
    fields = {key: study.report.get(key, ()) for key in ("rows", "cols", "best")}
    for value in values:
        Layout(**fields, value=value)


@pytest.mark.parametrize("name", [name for name in study_names() if None not in read_study(name).parts])
def test_the_layout_of_a_study_leaves_nothing_mixed(name, result_row):
    """A table of all its runs can be made: no cell would average runs that differ in more than it says, the seed."""
    study, planned = shipped(name)
    usual = result_row()
    for choice, specs in planned.items():
        rows = [{**usual, **spec.to_dict(), "epochs_to_90": 3, "objective": 0.5} for spec in specs]
        over = study.report.get("over", ("seed",))
        layout = Layout(
            **{key: study.report.get(key, ()) for key in ("rows", "cols", "best")},
            over=over,
            value=study.values.get(choice.protocol, study.report.get("value", "test_score")),
        )
        assert build_table(rows, layout).usual_n == len({tuple(row[name] for name in over) for row in rows})


@pytest.mark.parametrize(
    "name, paper", [("missing", "Dasoulas"), ("trees", "Alon"), ("deep", "Chen"), ("tuned", "Luo")]
)
def test_the_full_protocol_has_every_cell_that_was_published(name, paper):
    runs = read_study(name).choose("paper").runs({})[0]
    planned = {(r.dataset, r.missing, r.model, r.norm, r.layers) for r in runs}
    cells = {(e.dataset, e.missing, e.model, e.norm, e.depth) for e in read_papers() if paper in e.paper}
    assert cells
    assert cells <= planned


def test_the_first_runs_of_deep_are_those_that_it_is_about():
    """Every depth of Cora with three seeds: residual GAT without and with both bounds, and GCNII's residual."""
    first = read_study("deep").choose().runs({})[0][: 6 * 3 * 4]
    assert {(run.dataset, run.layers, run.seed) for run in first} == {
        ("cora", layers, seed) for layers in (2, 8, 32, 64, 128, 256) for seed in (0, 1, 2)
    }
    assert {(run.model, run.residual, run.norm, run.weight_norm) for run in first} == {
        ("gat", "identity", "none", "none"),
        ("gat", "identity", "lip", "fix:4/L"),
        ("gcn", "initial", "none", "none"),
        ("gat", "initial", "lip", "none"),
    }


def test_epochs_of_the_authors_grow_with_depth():
    """Their launcher: 1000 up to 4 layers, 1500 from 5 to 7, 2500 from 8 on."""
    for run in read_study("missing").choose("paper").runs({})[0]:
        assert run.epochs == (1000 if run.layers <= 4 else 1500 if run.layers < 8 else 2500)
