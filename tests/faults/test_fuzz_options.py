"""Fuzzers of what users write: configurations, sweeps, lists of values, and the model files they are given."""

import json
from types import SimpleNamespace

import pytest
import torch
from fuzz import FORMS, TOKENS, damaged_bytes, damaged_json, damaged_text, fuzz
from hypothesis import strategies as st
from networks import network_of
from safetensors import safe_open
from safetensors.torch import save

from lipgnn.spec.grid import Grid, parse_list, read_grid
from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.tasks.saved import load_model, save_model

CONFIG = resolve({}, {}).to_toml()
GRID = """[grid]
layers = [2, 4]
norm = "none,lip"
seed = "0-2"
[zip]
dataset = ["cora", "pubmed"]
lr = [0.005, 0.01]
[fixed]
epochs = 100
"""
VALUES = st.sampled_from([text for text in TOKENS if "\n" not in text]) | st.text(max_size=6)


@FORMS
@pytest.mark.parametrize("kind", ["configuration", "sweep"])
def test_toml(request, examples, kind, tmp_path):
    path = tmp_path / "x.toml"
    whole = CONFIG if kind == "configuration" else GRID

    def meet(content):
        path.write_bytes(content)
        if kind == "configuration":
            resolve({}, {}, path).to_toml()
        else:
            read_grid(path).runs({})

    meet(whole.encode())
    fuzz(request, kind, examples, damaged_text(whole, ' =[],\n"'), meet)


@FORMS
def test_lists_and_values(request, examples):
    item = VALUES | st.tuples(st.integers(0, 10**12), st.integers(0, 10**20)).map(lambda pair: f"{pair[0]}-{pair[1]}:7")
    lists = st.lists(item, min_size=1, max_size=3).map(",".join)

    def meet(case):
        name, text = case
        Grid({name: parse_list(name, text)}).runs({})

    fuzz(request, "lists", examples, st.tuples(st.sampled_from(sorted(FIELDS)), lists), meet)


@FORMS
def test_variables_and_presets(request, examples):
    variables = st.dictionaries(st.sampled_from([f"LIPGNN_{name.upper()}" for name in FIELDS]), VALUES, max_size=3)
    presets = st.none() | st.just("deep") | VALUES
    fuzz(
        request, "variables", examples, st.tuples(variables, presets), lambda case: resolve({}, case[0], None, case[1])
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model file, its tensors and its description."""
    torch.manual_seed(0)
    spec = RunSpec(layers=2, hidden=2, heads=2)
    data = SimpleNamespace(fingerprint="f", task="nodes", shape=(5, 3), class_names=("x", "y", "z"))
    path = tmp_path_factory.mktemp("model") / "best.safetensors"
    save_model(path, network_of(spec, 5, 3).state_dict(), spec=spec, dataset=data)
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        return path.read_bytes(), tensors, json.loads(file.metadata()["lipgnn"])


@FORMS
@pytest.mark.parametrize("how", ["bytes", "description", "tensors"])
def test_model_files(request, examples, how, model, tmp_path):
    whole, tensors, described = model
    path = tmp_path / "x.safetensors"

    @st.composite
    def other_tensors(draw):
        changed, name = dict(tensors), draw(st.sampled_from(sorted(tensors)))
        shape = draw(st.lists(st.integers(0, 5), max_size=3))
        dtype = draw(st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16]))
        changed[draw(st.sampled_from([name, "x", ""]))] = torch.zeros(shape).to(dtype)
        return save(changed, metadata={"lipgnn": json.dumps(described)})

    def with_description(text):
        return save(tensors, metadata={"lipgnn": text.decode(errors="replace")})

    def meet(content):
        path.write_bytes(content)
        load_model(path)

    meet(whole)
    damage = {
        "bytes": damaged_bytes(whole),
        "description": damaged_json(described).map(with_description),
        "tensors": other_tensors(),
    }
    fuzz(request, f"model files, {how}", examples, damage[how], meet)
