"""Optimizers and schedules that can be chosen."""

from __future__ import annotations

from lipgnn.catalog import MEMORIES, OPTIMIZERS, SCALES, SCHEDULES
from lipgnn.spec.run import FIELDS, parse_value


def test_every_entry_has_a_line_and_defaults_that_are_options():
    for entries in (OPTIMIZERS, SCHEDULES, SCALES, MEMORIES):
        for entry in entries.values():
            assert entry.description
            assert {name: parse_value(name, value) for name, value in entry.defaults.items()} == entry.defaults


def test_the_options_take_their_choices_from_here():
    named = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES, "compress_scale": SCALES, "compress_memory": MEMORIES}
    for name, entries in named.items():
        assert list(FIELDS[name].metadata["choices"]) == list(entries)
        assert FIELDS[name].default in entries
