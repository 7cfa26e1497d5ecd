from cli.compress_view import COLUMNS, as_dict, to_csv
from lipgnn.compress import LayerFacts
from lipgnn.compress.curve import Curve
from lipgnn.compress.effect import Effect, Standing

SCORES = {"train": 1.0, "val": None, "test": 0.5}
BEFORE = Standing(None, 100, 40, "accuracy", SCORES)
UNIFORM = Standing(0, 60, 0, "accuracy", SCORES)
EFFECT = Effect(
    Standing(3, 80, 20, "accuracy", SCORES),
    [LayerFacts("1", 0.9, 4, 0.25), LayerFacts("2", 0.8, 5, 0.125)],
    [0.0, 0.75],
)
FOUND = Curve("data", BEFORE, UNIFORM, [], [EFFECT])


def test_csv_has_the_largest_of_all_layers_and_no_text_for_what_there_is_not():
    lines = to_csv(FOUND).decode().splitlines()
    assert lines == [
        ",".join(COLUMNS),
        ",100,40,,,,accuracy,1.0,,0.5",
        "0,60,0,,,,accuracy,1.0,,0.5",
        "3,80,20,data,0.25,0.75,accuracy,1.0,,0.5",
    ]


def test_json_has_every_layer():
    found = as_dict(FOUND)
    assert found["before"]["shared_dim"] is None and found["uniform"]["parameters"] == 60
    assert found["widths"][0]["layers"][1] == {
        "layer": "2",
        "energy": 0.8,
        "suggested": 5,
        "error": 0.125,
        "logit_change": 0.75,
    }
