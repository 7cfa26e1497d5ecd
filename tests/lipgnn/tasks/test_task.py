"""What a task that says nothing is taken for."""

import pytest

from lipgnn.catalog import METRICS, TASKS, find_task
from lipgnn.errors import UsageError
from lipgnn.tasks import Task, identify, load, task_of


def test_who_says_nothing_is_taken_for_the_careful_case():
    task = Task()
    assert task.uncertified and not task.has_classes
    assert task.defaults("anything", "gat") == {} and task.edges("anything") is None
    assert not task.is_smaller("trees:5:250", "trees:5")
    task.metric = "accuracy"
    assert (
        task.metric_of("anything") == task.metric_for("auto") == "accuracy" and task.metric_for("roc-auc") == "roc-auc"
    )
    assert not task.encoder_optional
    assert task.outputs == "nodes" and task.model is None and task.final_measures(None, None, None) == {}
    assert task.check_data(None, None) is None
    for method, arguments in (("batches", (None, None, None)), ("loss", (None, None))):
        with pytest.raises(NotImplementedError):
            getattr(task, method)(*arguments)


def test_features_of_nodes_can_be_given_to_layers_as_they_are():
    assert [name for name in TASKS if find_task(name).encoder_optional] == ["nodes", "labels"]


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_catalog_says_what_is_predicted_and_how_it_is_scored(name):
    task = find_task(name)
    assert isinstance(task, Task) and find_task(name) is task
    assert task.items in ("nodes", "graphs", "windows", "images") and task.metric in METRICS
    assert task.uncertified is None or task.uncertified.endswith(".")


def test_an_unknown_task_is_refused_with_the_list():
    with pytest.raises(UsageError, match="Unknown task 'edges'"):
        find_task("edges")


@pytest.mark.parametrize("name", ["planted", "trees:2", "planar:200"])
def test_data_is_found_by_its_name_and_says_its_task(name):
    data = load(name)
    assert find_task(data.task) is task_of(name)
    assert data.fingerprint == identify(name)


def test_remarks_are_how_it_was_read_and_what_cannot_be_learned(tmp_path):
    from lipgnn.tasks import load, remarks_on

    (tmp_path / "nodes.csv").write_text("id,class,split,f\na,x,train,1\nb,y,val,2\nc,y,test,3\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    data = load(str(tmp_path), split="public", missing=0.0, features="raw")
    assert remarks_on(data) == (
        "Columns of nodes.csv were taken: 'class' as label.",
        f"No training node of {tmp_path.name!r} is of class 'y', and validation or test nodes are.",
    )
    assert remarks_on(load("trees:2", split="public", missing=0.0, features="raw")) == ()
