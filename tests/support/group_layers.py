"""The group layer as it is published, with a code of three group elements, by dense sums (Romero & Cordonnier 2021).

    out(i, h) = Σ_h̃ Σ_(j, ĥ) softmax_(j, ĥ) ⟨ q(i, h̃), k(j, ĥ) + ρ(h⁻¹(x_j − x_i), code) ⟩ v(j, ĥ)

for turns by 90 degrees, whose elements are numbers v, g, m (h, h̃, ĥ) added modulo 4. The published code is m − g + v.
One of quotients alone, such as m − v or m − g, would be invariant.
"""

import numpy as np

from lipgnn.groups import act_on_grid, offsets_on_grid
from lipgnn.groups.product import moved_labels

TURNS = 4


class PublishedLayer:
    """One head of random weights; `code` is a function of the numbers v, g and m."""

    def __init__(self, code, *, side=4, reach=1, width=3, seed=0):
        draw = np.random.RandomState(seed)
        self.code, self.side = code, side
        self.query, self.key, self.value = draw.randn(3, width, width)
        self.action, self.relation = act_on_grid("p4", side), offsets_on_grid(side, reach)
        self.codes = draw.randn(self.relation.num_labels, TURNS, width)
        self.seen = moved_labels(self.action, self.relation)[self.action.group.inverses]

    def __call__(self, f):
        """(pixels, 4, width) → (pixels, 4, width)."""
        q, k, values = f @ self.query, f @ self.key, f @ self.value
        out = np.zeros_like(f)
        for i in range(len(f)):
            pairs = np.flatnonzero(self.relation.targets == i)
            j = self.relation.sources[pairs]
            for v in range(TURNS):
                for g in range(TURNS):
                    index = [self.code(v, g, m) % TURNS for m in range(TURNS)]
                    keys = k[j] + self.codes[self.seen[v, pairs]][:, index]
                    scores = np.exp(keys @ q[i, g])
                    out[i, v] += np.tensordot(scores / scores.sum(), values[j], axes=2)
        return out

    def moved(self, f, element):
        """Features on pixels and elements, moved: at (g·p, g·h) is what was at (p, h)."""
        nodes = self.action.nodes()[element]
        moved = np.empty_like(f.reshape(len(nodes), -1))
        moved[nodes] = f.reshape(len(nodes), -1)
        return moved.reshape(f.shape)
