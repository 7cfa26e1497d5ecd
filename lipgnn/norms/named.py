"""Norms by the names they have in the catalog."""

from __future__ import annotations

from typing import Any

from torch import nn

from lipgnn.catalog import FEATURE_NORMS, SCORE_NORMS, check_name


def score_norm(norm: str | nn.Module | None, attention: str, **options: Any) -> nn.Module | None:
    """A score norm given by name, as a module, or not at all.

    Parameters
    ----------
    attention : the kind of attention that it has to fit.
    options : what a norm given by name is made with, beside the arguments of its entry.

    Raises
    ------
    UsageError : no norm of this name fits the attention.
    """
    if norm is None or isinstance(norm, nn.Module):
        return norm
    check_name("score norm", norm, [name for name, entry in SCORE_NORMS.items() if attention in entry.attention])
    entry = SCORE_NORMS[norm]
    return entry.load(attention)(**options, **entry.arguments)


def feature_norm(name: str, width: int) -> nn.Module:
    """The feature norm called `name`, for features of `width` channels.

    Raises
    ------
    UsageError : there is no such name.
    """
    check_name("feature norm", name, FEATURE_NORMS)
    entry = FEATURE_NORMS[name]
    return entry.load().for_width(width, **entry.arguments)
