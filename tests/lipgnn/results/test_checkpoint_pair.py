"""Tensors and state of a checkpoint: always a pair, wherever a kill hits."""

import json
import os

from lipgnn.files import sha256
from lipgnn.results.checkpoint_pair import CheckpointPair


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


def replace(pair, epoch):
    tensors = b"tensors of epoch %d" % epoch
    pair.replace(tensors, json.dumps({"epoch": epoch, "sha256": sha256(tensors)}).encode())


def read(pair):
    """The epoch of the state, and the tensors that belong to it."""
    state = json.loads(pair.state_path.read_bytes())
    return state["epoch"], pair.tensors_with(state["sha256"])


def test_a_pair_is_two_files_and_the_newer_takes_the_place_of_the_older(tmp_path):
    pair = CheckpointPair(tmp_path)
    for epoch in (1, 2):
        replace(pair, epoch)
        assert read(pair) == (epoch, b"tensors of epoch %d" % epoch)
        assert sorted(os.listdir(tmp_path)) == ["last.json", "last.safetensors"]


def test_tensors_of_another_state_are_none(tmp_path):
    pair = CheckpointPair(tmp_path)
    assert pair.tensors_with(sha256(b"")) is None
    replace(pair, 1)
    pair.tensors_path.write_bytes(b"damaged")
    assert read(pair) == (1, None)


def test_a_kill_between_any_two_steps_leaves_the_old_pair_or_the_new(tmp_path, monkeypatch):
    """Every call that touches the disk is a place to die at; afterwards a whole pair is read."""
    steps = []

    def dying(real, number):
        def call(*args):
            steps.append(number)
            if len(steps) == deadly:
                raise Killed
            return real(*args)

        return call

    real = {name: getattr(os, name) for name in ("replace", "fsync", "open")}
    seen = set()
    for deadly in range(1, 20):
        folder = tmp_path / str(deadly)
        folder.mkdir()
        pair = CheckpointPair(folder)
        replace(pair, 1)
        steps.clear()
        for name, function in real.items():
            monkeypatch.setattr(os, name, dying(function, name))
        try:
            replace(pair, 2)
            finished = True
        except Killed:
            finished = False
        for name, function in real.items():
            monkeypatch.setattr(os, name, function)
        epoch, tensors = read(pair)
        assert tensors == b"tensors of epoch %d" % epoch
        assert pair.tensors_path.read_bytes() == tensors
        seen.add(epoch)
        if finished:
            break
    assert finished
    assert seen == {1, 2}
