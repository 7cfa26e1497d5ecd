"""Where the runs of a sweep are computed: processes of this machine, a Ray cluster, or Slurm."""

from lipgnn.engines.events import Ended, Event, Progress
from lipgnn.engines.local import LocalEngine

__all__ = ["Ended", "Event", "LocalEngine", "Progress"]
