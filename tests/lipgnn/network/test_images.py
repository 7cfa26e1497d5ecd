"""Networks of images respect their group exactly: E1, E2, E5, E6 and E8 of the specification, in double precision."""

import dataclasses

import numpy as np
import pytest
import torch
from group_layers import PublishedLayer
from pictures import image_network, random_images

from lipgnn.catalog import DOT_PRODUCT, FEATURE_NORMS, NORM_PLACES, SCORE_NORMS
from lipgnn.errors import UsageError
from lipgnn.groups import act_on_grid
from lipgnn.groups.grid import MOVES
from lipgnn.tasks.rotations import errors_by_layer, pixel_orders

EXACT, BROKEN = 1e-10, 1e-3
TURNS = ("90 degrees", "180 degrees", "270 degrees")
NORMS = ["none", *(name for name, entry in SCORE_NORMS.items() if DOT_PRODUCT in entry.attention), *FEATURE_NORMS]


def errors_of(dataset, **options):
    """The largest error over layers and logits, for every move."""
    spec, network, batches = image_network(dataset, **options)
    rows = errors_by_layer(spec, network, batches)
    return {name: max(row[name] for row in rows) for name in rows[0] if name != "layer"}


@pytest.mark.parametrize("side", [4, 5])
def test_turns_of_the_image_turn_the_features_of_p4(side):
    """E1, with the index of the group shifted by as many; a mirror image is something else to it."""
    errors = errors_of(random_images(side=side), group="p4")
    assert max(errors[name] for name in TURNS) < EXACT
    assert errors["mirrored"] > BROKEN


def test_features_are_turned_by_numpy_as_well():
    """E1 once more, without tables: rot90 of the image gives rot90 of the features, the group index rolled by one."""
    dataset = random_images(side=5)
    _, network, batches = image_network(dataset, group="p4")

    def features(images):
        x = torch.tensor(images, dtype=torch.float64).flatten(1).t().unsqueeze(-1)
        return network.body(batches.graph, network.encode(x)).view(5, 5, 4, len(images), -1).detach().numpy()

    upright, turned = features(dataset.images), features(np.rot90(dataset.images, axes=(1, 2)).copy())
    expected = np.roll(np.rot90(upright, axes=(0, 1)), 1, axis=2)
    assert np.abs(turned - expected).max() < EXACT * np.abs(expected).max()


def test_escnn_finds_p4_equivariant():
    """Its own turns of images and of fields of the regular representation, whose elements are turns as ours are."""
    escnn = pytest.importorskip("escnn", reason="escnn is an optional judge", exc_type=ImportError)
    dataset = random_images(side=5)
    _, network, batches = image_network(dataset, group="p4")
    plane = escnn.gspaces.rot2dOnR2(4)
    images = torch.tensor(dataset.images[:3], dtype=torch.float64).unsqueeze(1)  # (B, 1, S, S)

    def field(images):
        x = images.flatten(2).permute(2, 0, 1)
        y = network.body(batches.graph, network.encode(x))  # (P·4, B, W)
        y = y.detach().unflatten(0, (5, 5, 4)).permute(3, 4, 2, 0, 1).flatten(1, 2)  # (B, W·4, S, S)
        return escnn.nn.GeometricTensor(y, escnn.nn.FieldType(plane, y.shape[1] // 4 * [plane.regular_repr]))

    given = escnn.nn.GeometricTensor(images, escnn.nn.FieldType(plane, [plane.trivial_repr]))
    for element in plane.testing_elements:
        moved, expected = field(given.transform(element).tensor), field(images).transform(element)
        assert (moved.tensor - expected.tensor).abs().max() < 1e-6  # its images are interpolated


@pytest.mark.parametrize("readout", ["max", "mean"])
def test_turns_and_mirrors_leave_logits_of_p4m_alone(readout):
    """E2."""
    assert max(errors_of(random_images(side=4), group="p4m", readout=readout).values()) < EXACT


def test_every_element_of_p4m_leaves_logits_alone():
    dataset = random_images(side=4)
    _, network, batches = image_network(dataset, group="p4m")
    action, x = act_on_grid("p4m", 4), batches.batch(torch.arange(6)).features
    upright = network(batches.graph, x)
    for element in range(8):
        moved = network(batches.graph, x[torch.tensor(action.moves[element])])
        assert (moved - upright).abs().max() < EXACT


def test_mirror_has_its_own_axis_alone():
    errors = errors_of(random_images(), group="mirror")
    assert errors["mirrored"] < EXACT
    assert min(errors[name] for name in TURNS) > BROKEN


def test_z2_violates_all_of_them():
    """E2's teeth."""
    spec, network, batches = image_network(random_images(), group="z2")
    *_, logits = errors_by_layer(spec, network, batches)
    assert logits.pop("layer") == "logits"
    assert set(logits) == set(MOVES) - {"upright"} and min(logits.values()) > BROKEN


@pytest.mark.parametrize("place", NORM_PLACES)
@pytest.mark.parametrize("norm", NORMS)
def test_no_norm_breaks_the_symmetry(norm, place):
    """E6."""
    assert max(errors_of(random_images(side=4), group="p4m", norm=norm, norm_place=place).values()) < EXACT


@pytest.mark.parametrize(
    "options",
    [
        {"residual": "none"},
        {"residual": "scaled"},
        {"residual": "gated"},
        {"residual": "initial"},
        {"residual": "linear"},
        {"mlp": "none"},
        {"stack": "reversible", "mlp": "none", "hidden": 4, "norm": "none", "norm_place": "branch"},
        {"jk": "concat"},
        {"skip": "none"},
        {"weight_norm": "cap:1"},
        {"reach": 3},
        {"reach": 0},
    ],
    ids=str,
)
def test_no_option_breaks_the_symmetry(options):
    assert max(errors_of(random_images(side=4), group="p4m", **options).values()) < EXACT


@pytest.mark.parametrize("norm", ["none", "lip", "lip+pair", "batch", "graph", "layer-graph"])
def test_an_image_does_not_depend_on_its_batch(norm):
    """Every image on its own gives what it gives among others; in evaluation for BatchNorm."""
    _, network, batches = image_network(random_images(), group="p4", norm=norm)
    together = network(batches.graph, batches.batch(torch.arange(12)).features)
    for item in range(12):
        one = torch.tensor([item])
        for batch in (batches.batch(one), batches.alone(one)):
            alone = network(batch.graph, batch.features)
            assert alone.shape == (1, 3)
            assert (alone - together[item]).abs().max() < EXACT


def test_features_shift_with_the_image():
    """E5: away from the border by the reach of all layers, which a shorter window would see."""
    side, reach, layers = 9, 1, 2
    dataset = random_images(count=3, side=side)
    inside = np.zeros_like(dataset.images)
    inside[:, 3:5, 3:5] = dataset.images[:, 3:5, 3:5]
    shifted = np.roll(inside, (1, 2), axis=(1, 2))
    found = []
    for images in (inside, shifted):
        own = dataclasses.replace(dataset, images=images)
        _, network, batches = image_network(own, group="p4", reach=reach, layers=layers)
        x = network.body(batches.graph, network.encode(batches.batch(torch.arange(3)).features))
        found.append(x.detach().numpy().reshape(side, side, -1))
    # What is two layers from the border on either side sees no difference but the shift.
    edge = reach * layers
    first = found[0][edge : side - edge - 1, edge : side - edge - 2]
    second = found[1][edge + 1 : side - edge, edge + 2 : side - edge]
    assert first.size and np.abs(first - second).max() < EXACT
    assert np.abs(found[0][:edge] - found[1][:edge]).max() > BROKEN


def published_error(code):
    layer = PublishedLayer(code)
    f = np.random.RandomState(1).randn(16, 4, 3)
    moved, expected = layer(layer.moved(f, 1)), layer.moved(layer(f), 1)
    return np.abs(moved - expected).max() / np.abs(expected).max()


def test_the_published_code_is_not_equivariant():
    """E8: m − g + v is no function of quotients; m − v and m − g are, and pass in the same layer."""
    assert published_error(lambda v, g, m: m - g + v) > 1e-2
    assert published_error(lambda v, g, m: m - v) < EXACT
    assert published_error(lambda v, g, m: m - g) < EXACT


def test_the_first_layer_lifts():
    """Pixels are copied to all elements, so that its input is the same for each of them."""
    _, network, batches = image_network(random_images(), group="p4m")
    x = network.encode(batches.batch(torch.arange(2)).features).view(25, 8, 2, -1)
    assert (x == x[:, :1]).all()


def test_orders_of_pixels_are_those_of_numpy():
    image = np.arange(25).reshape(5, 5)
    for name, order in pixel_orders(5).items():
        turned = np.fliplr(image) if name == "mirrored" else np.rot90(image, MOVES[name])
        assert (image.ravel()[order.numpy()].reshape(5, 5) == turned).all()


def test_there_are_as_many_types_as_codes():
    for group in ("z2", "mirror", "p4", "p4m"):
        _, network, batches = image_network(random_images(), group=group, reach=2)
        assert network.blocks[0].conv.edge_types == batches.product.num_types


def test_how_far_it_looks_is_refused():
    _, network, batches = image_network(random_images())
    with pytest.raises(UsageError, match="those of images are of images"):
        network.from_encoder(batches.graph, batches.whole().features)
