from matplotlib.figure import Figure

from lipgnn.report.figures.course import course_sheet

LOG = [
    {
        "epoch": k,
        "train_loss": 1 / k,
        "val_loss": 2 / k,
        "train_score": k / 9,
        "val_score": k / 10,
        "test_score": k / 11,
    }
    for k in range(1, 6)
]


def test_losses_and_scores_by_epoch():
    sheet = course_sheet(LOG, "a run", "accuracy", 3)
    assert isinstance(sheet, Figure)
    losses, scores = sheet.axes
    assert (losses.get_ylabel(), scores.get_ylabel()) == ("loss", "accuracy")
    drawn = {line.get_label(): line for line in scores.lines}
    assert drawn["test"].get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert drawn["test"].get_ydata().tolist() == [k / 11 for k in range(1, 6)]
    assert list(drawn["selected epoch"].get_xdata()) == [3, 3]


def test_without_a_selected_epoch_there_is_no_mark():
    assert len(course_sheet(LOG, "a run", "accuracy", None).axes[0].lines) == 2
