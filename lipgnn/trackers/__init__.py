"""Trackers: what a run tells on the way, written for TensorBoard, MLflow and others; one file each.

To add one, write a class by the Protocol of `lipgnn.trackers.tracker` in a file here, and a line in TRACKERS of
`lipgnn.catalog`. Trackers stand beside a run and change nothing of it: `lipgnn.trackers.follow` sees to that.
"""

from lipgnn.trackers.follow import train
from lipgnn.trackers.tracker import Tracked, Tracker

__all__ = ["Tracked", "Tracker", "train"]
