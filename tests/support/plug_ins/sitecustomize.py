"""One line in one dictionary for each of the toys; a process with this folder on PYTHONPATH has them."""

from toy_figure import Dots
from toy_format import Pairs

from lipgnn.catalog import (
    FEATURE_NORMS,
    MODELS,
    SCORE_NORMS,
    TASKS,
    Entry,
    FeatureNormEntry,
    LayerEntry,
    ScoreNormEntry,
)
from lipgnn.datasets.formats import FORMATS
from lipgnn.report.figures import FIGURES

SCORE_NORMS["halved"] = ScoreNormEntry("half", implementations={"additive": "toy_score_norm:Halved"})
FEATURE_NORMS["tenth"] = FeatureNormEntry("a tenth", implementation="toy_feature_norm:Tenth")
MODELS["mean"] = LayerEntry("the mean of the neighbours", {"norm": "none"}, implementation="toy_layer:MeanConv")
FORMATS["pairs"] = Pairs()
TASKS["degrees"] = Entry("whether a node has an odd number of neighbours", implementation="toy_task:Degrees")
FIGURES["dots"] = Dots()
