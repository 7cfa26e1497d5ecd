import pytest

from lipgnn import catalog
from lipgnn.network.blocks import Block
from lipgnn.network.build import ACTIVATIONS, Builder
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import Mlp
from lipgnn.spec.network import NetworkSpec


def test_the_activations_are_those_of_the_catalog():
    assert tuple(ACTIVATIONS) == catalog.ACTIVATIONS


def test_blocks_have_the_parts_that_were_asked_for():
    block = Builder(NetworkSpec(model="gcn", norm="layer", norm_place="sum", mlp="2x", residual="identity")).block(1)
    assert isinstance(block, Block) and block.norm is None and block.sum_norm is not None
    assert isinstance(block.mlp.conv, Mlp) and block.mlp.sum_norm is not None and block.mlp.residual == "identity"
    halves = Builder(NetworkSpec(stack="reversible", residual="scaled", layers=4)).block(1)
    assert isinstance(halves, ReversibleBlock) and halves.scale == 0.5
    assert halves.f.conv.fc.weight.shape == (32, 32)


def test_maps_near_the_identity_come_nearer_with_depth():
    builder = Builder(NetworkSpec(model="gcn", norm="none", residual="initial", beta=0.5))
    betas = [builder.block(layer).conv.parametrizations.weight[0].beta for layer in (1, 2, 10)]
    # log(0.5/l + 1) for l = 1, 2, 10, by a table of logarithms.
    assert betas == pytest.approx([0.405465, 0.223144, 0.048790], abs=1e-6)
