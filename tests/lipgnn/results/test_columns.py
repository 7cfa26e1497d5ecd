import pytest

from lipgnn.catalog import MEASURES
from lipgnn.errors import DataError
from lipgnn.results.columns import COLUMNS, RESULT_FIELDS, checked
from lipgnn.spec.run import FIELDS


def test_the_columns_are_those_of_the_contract():
    contract = (
        "run_id status epochs_run best_epoch epochs_to_90 train_score val_score test_score last_test_score "
        "train_loss val_loss max_grad_norm parameters seconds seconds_per_epoch peak_memory_mb threads fingerprint "
        "version command objective sent_mb dense_mb"
    )
    assert " ".join(RESULT_FIELDS) == contract
    assert (*FIELDS, *RESULT_FIELDS, *MEASURES) == COLUMNS


def test_texts_become_the_numbers_they_are_and_an_empty_one_is_none(result_row):
    row = result_row()
    texts = {name: "" if value is None else str(value) for name, value in row.items()}
    assert checked(texts, "here", "Mend it.") == {name: row[name] for name in COLUMNS}
    assert checked(texts | {"max_grad_norm": ""}, "here", "Mend it.")["max_grad_norm"] is None


@pytest.mark.parametrize(
    "column, value, problem",
    [
        ("layers", True, "True is not a whole number"),
        ("layers", 10**400, "a number of more than 80 digits is not a whole number"),
        ("seed", 2**63, "9223372036854775808 is not a whole number"),
        ("lr", 10**400, "a number of more than 80 digits is not a finite number"),
        ("lr", "9" * 400, "…"),
        ("val_loss", float("nan"), "nan is not a finite number"),
        ("dataset", 7, "7 is not a text"),
        ("metric", None, "empty"),
    ],
)
def test_a_value_that_cannot_be_is_named_in_few_words(result_row, column, value, problem):
    with pytest.raises(DataError) as caught:
        checked({**result_row(), column: value}, "here", "Mend it.")
    assert caught.value.message.startswith(f"here, column {column!r}: ") and problem in caught.value.message
    assert len(caught.value.message) < 160


def test_a_missing_column_is_named(result_row):
    row = result_row()
    del row["val_score"]
    with pytest.raises(DataError, match="here has no 'val_score'"):
        checked(row, "here", "Mend it.")
