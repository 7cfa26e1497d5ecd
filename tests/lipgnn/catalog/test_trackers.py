import configparser

import pytest
from toy_tracker import plug_in

from lipgnn.catalog import TRACKERS, installed_trackers, tracker_names
from lipgnn.errors import UsageError


def test_names_are_taken_from_lists_each_once():
    assert tracker_names(["mlflow, tensorboard", "mlflow", ""]) == ("mlflow", "tensorboard")
    assert tracker_names([]) == ()


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="Unknown tracker 'tensorbord'") as caught:
        tracker_names(["mlflow,tensorbord"])
    assert "Did you mean 'tensorboard'?" in caught.value.hint


def test_every_tracker_has_an_extra_of_the_name_of_its_package(root):
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    for entry in TRACKERS.values():
        assert entry.load().__module__ == entry.implementation.partition(":")[0]
        assert config["options.extras_require"][entry.package].strip().startswith(entry.package)


def test_of_one_that_is_not_installed_one_sentence_says_how_to(monkeypatch):
    plug_in(monkeypatch)
    said = []
    assert installed_trackers(["absent,toy"], said.append) == ("toy",)
    assert said == ['Nothing is logged by absent, which is not installed: pip install "lipgnn[no_such_package]"']
