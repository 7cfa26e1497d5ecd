"""Training with a recorder, for the tests of recorders."""

import dataclasses

from lipgnn.results.recordings import read_recording


def train(training, recorder, epochs):
    """So many epochs, with a recorder or None; returns their log lines without times."""
    lines = []
    for _ in range(epochs):
        lines.append(dataclasses.replace(training.step(), seconds=0))
        if recorder:
            recorder.end_epoch(training.epoch)
    return lines


def recorded(kind, training, path, epochs):
    """What a kind of recorder writes of so many epochs."""
    recorder = kind(training)
    train(training, recorder, epochs)
    recorder.save(path)
    return read_recording(path)
