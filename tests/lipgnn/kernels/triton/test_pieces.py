"""Widths, blocks and random words of the programs."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.kernels.triton.pieces import edges_together, padded, program, random_word, tl


@given(width=st.integers(1, 5000), other=st.integers(1, 5000))
def test_blocks_are_powers_of_two_with_room_for_the_rows(width, other):
    assert width <= padded(width) < 2 * width
    assert padded(width).bit_count() == edges_together(width, other).bit_count() == 1
    assert 2 <= edges_together(width, other) <= 32
    assert edges_together(width, other) * (width + other) <= 1024 or edges_together(width, other) == 2


def test_the_reference_is_philox_by_its_known_answers(philox):
    """The first and the second known answer of Random123, kat_vectors, philox4x32 10."""
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def test_words_are_those_of_philox_for_any_edge_head_and_seed(interpreter, philox):
    @program
    def fill(numbers, seed, words, COUNT: tl.constexpr):
        place = tl.arange(0, COUNT)
        head = tl.program_id(0)
        tl.store(words + head * COUNT + place, random_word(tl.load(numbers + place), head, seed))

    numbers = torch.tensor([0, 1, 2**31, 2**32 - 1, 2**32, 2**33 + 7, 2**40 + 2**31, 12345])
    for seed in (0, 1, 2**31, 2**32 + 3, 2**63 - 1):
        words = torch.empty(9, 8, dtype=torch.int64)
        fill[(9,)](numbers, seed, words, COUNT=8)
        expected = [
            [philox((n % 2**32, n >> 32, head // 4, 0), (seed % 2**32, seed >> 32))[head % 4] for n in numbers.tolist()]
            for head in range(9)
        ]
        assert words.tolist() == expected
