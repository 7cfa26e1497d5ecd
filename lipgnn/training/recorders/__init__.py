"""Recorders: numbers by layer, distance or horizon, taken while a run trains; one file each, by name in RECORDERS."""

from lipgnn.training.recorders.gradients import GradientRecorder
from lipgnn.training.recorders.horizons import HorizonRecorder
from lipgnn.training.recorders.reach import ReachRecorder
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.recorders.similarity import SimilarityRecorder
from lipgnn.training.recorders.traffic import TrafficRecorder

__all__ = ["RECORDERS", "Recorder"]

RECORDERS: dict[str, type[Recorder]] = {
    "gradients": GradientRecorder,
    "similarity": SimilarityRecorder,
    "reach": ReachRecorder,
    "horizons": HorizonRecorder,
    "traffic": TrafficRecorder,
}
