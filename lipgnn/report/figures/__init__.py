"""Figures: one file each, all found by name in FIGURES. Nothing is imported for drawing before something is drawn.

To add one, write a class by the Protocol of `lipgnn.report.figures.figure` in a file here, and a line in FIGURES.
`lipgnn report --figure` and the page of --html take it from there. `layers` is no figure of a table: diagnose draws
it of a single network.
"""

from lipgnn.report.figures.box import Box
from lipgnn.report.figures.curve import Curve
from lipgnn.report.figures.depth import Depth
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.heat import Heat
from lipgnn.report.figures.horizon import Horizon
from lipgnn.report.figures.largest import Largest
from lipgnn.report.figures.profile import Profile
from lipgnn.report.figures.reach import Reach
from lipgnn.report.figures.scatter import Scatter
from lipgnn.report.figures.size import Size
from lipgnn.report.figures.traffic import Traffic

# A page shows its figures in this order.
FIGURES: dict[str, Figure] = {
    "depth": Depth(),
    "box": Box(),
    "curve": Curve(),
    "heat": Heat(),
    "largest": Largest(),
    "profile": Profile(),
    "reach": Reach(),
    "horizon": Horizon(),
    "scatter": Scatter(),
    "size": Size("parameters", "parameters"),
    "pace": Size("seconds_per_epoch", "seconds per epoch"),
    "traffic": Traffic(),
}
