"""Paths as sets: all of them, each once, and draws that favour none."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from scipy.stats import binom, chisquare

from lipgnn.diagnose.path_choice import choose_paths, count_paths
from lipgnn.errors import UsageError


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (3, 2), (12, 12), (256, 8)])
def test_counts_of_all_lengths_sum_to_all_paths(layers, heads):
    """R7: Σ_k C(L, k) H^k = (H + 1)^L; without skips there is one length."""
    counts = [count_paths(layers, heads, k, skips=True) for k in range(layers + 1)]
    assert sum(counts) == (heads + 1) ** layers
    without = [count_paths(layers, heads, k, skips=False) for k in range(layers + 1)]
    assert without == [0] * layers + [heads**layers]


@pytest.mark.parametrize(("skips", "total"), [(True, 27), (False, 8)])
def test_where_there_are_few_all_are_chosen(skips, total):
    chosen = choose_paths(3, 2, skips, count=total)
    assert sorted(chosen) == list(itertools.product(range(0 if skips else 1, 3), repeat=3))
    for length in range(4) if skips else [3]:
        of_length = [path for path in chosen if sum(head > 0 for head in path) == length]
        assert sorted(choose_paths(3, 2, skips, count=total, length=length)) == sorted(of_length)
        assert len(of_length) == count_paths(3, 2, length, skips=skips)


def test_drawn_lengths_are_binomial():
    """R7: the length of a path drawn from all is Binomial(L, H/(H + 1)), here of 10 layers and 3 heads."""
    chosen = choose_paths(10, 3, True, count=4000)
    assert len(set(chosen)) == 4000
    found = Counter(sum(head > 0 for head in path) for path in chosen)
    # The rare lengths together, so that enough is expected of each.
    expected = [4000 * binom.cdf(4, 10, 0.75), *(4000 * binom.pmf(k, 10, 0.75) for k in range(5, 11))]
    observed = [sum(found[k] for k in range(5)), *(found[k] for k in range(5, 11))]
    assert chisquare(observed, expected).pvalue > 0.001


def test_drawn_paths_of_one_length_favour_no_layer_and_no_head():
    """R7: of length 4 in 10 layers, every layer takes each of the 3 heads in 4/30 of the paths."""
    chosen = choose_paths(10, 3, True, count=3000, length=4)
    assert all(sum(head > 0 for head in path) == 4 for path in chosen)
    taken = Counter((layer, head) for path in chosen for layer, head in enumerate(path) if head)
    assert len(taken) == 30
    # Exactly four a path, which makes the sum spread a little less than chi-squared: the test can only be too lenient.
    assert chisquare(list(taken.values())).pvalue > 0.001


def test_a_seed_chooses_the_paths():
    chosen = choose_paths(20, 4, False, count=5, seed=1)
    assert choose_paths(20, 4, False, count=5, seed=1) == chosen
    assert choose_paths(20, 4, False, count=5, seed=2) != chosen
    assert all(0 not in path for path in chosen)


@pytest.mark.parametrize(("skips", "length"), [(True, 4), (True, -1), (False, 2)])
def test_a_length_that_no_path_has_is_refused(skips, length):
    with pytest.raises(UsageError, match=f"no path of length {length}: all have length"):
        choose_paths(3, 2, skips, count=1, length=length)
