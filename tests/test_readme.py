"""The tables of the pages are what `lipgnn report` prints from the rows that are kept with the code."""

import shutil

import pytest

from lipgnn.spec.study import read_study, study_names


@pytest.mark.parametrize("page", ["README.md", "results/README.md", "results/studies/README.md"])
def test_the_tables_of_a_page_are_as_printed(page, root, tmp_path, invoke):
    """Fix it by `lipgnn report --update PAGE` in the top folder."""
    shutil.copytree(root / "results" / "studies", tmp_path / "results" / "studies")
    shutil.copy(root / page, tmp_path / page)
    code, _, err = invoke("report", "--update", page)
    assert code == 0, err
    assert not err.startswith("0 table(s)")
    assert (tmp_path / page).read_text() == (root / page).read_text()


def test_readme_tells_every_study_of_two_scales(root):
    text = (root / "README.md").read_text()
    for name in study_names():
        assert None in read_study(name).parts or f"| `{name}` |" in text, name
