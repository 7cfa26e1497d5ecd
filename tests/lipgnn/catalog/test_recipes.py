"""Recipes hold values of run options, and every kind of layer has a run by default on every data set."""

import pytest

from lipgnn.catalog import DATASETS, layers_for, task_name
from lipgnn.catalog.recipes import LINEAR_RECIPE, SUMS_RECIPE
from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.spec.sources import resolve


@pytest.mark.parametrize("recipe", [SUMS_RECIPE, LINEAR_RECIPE])
def test_a_recipe_is_a_run(recipe):
    assert recipe.keys() <= FIELDS.keys()
    spec = RunSpec(**recipe)
    assert {name: getattr(spec, name) for name in recipe} == recipe


@pytest.mark.parametrize(
    ("dataset", "model"),
    [
        (dataset, model)
        for dataset in [*(name for name in DATASETS if name != "trees"), "trees:2"]
        for model in layers_for(task_name(dataset))
    ],
)
def test_every_layer_has_a_run_by_default_on_every_data_set(dataset, model):
    assert resolve({"dataset": dataset, "model": model}, {}).spec.model == model
