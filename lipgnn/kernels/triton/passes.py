"""Attention in three programs: forward, back to the targets of edges, back to their sources.

With a query q_i at the target of an edge, a key k_j at its source, and two divisors u_i, v_i of the target,

    t_ij = (q_i / u_i)·(k_j / v_i), or, additive, (q_i + k_j) / (u_i v_i),   s_ij = LeakyReLU(t_ij)
    α_ij = softmax_{j∈N(i)} s_ij,   y_i = Σ_j α_ij M_ij x_j

where M is the dropout mask: 0, or 1/(1 − p). Only h_i = max_j s_ij and w_i = 1 / Σ_j exp(s_ij − h_i) are kept for the
way back, on which α_ij = w_i exp(s_ij − h_i) is computed anew: nothing has a row for every edge. The two are kept
apart, because scores may be so large that the logarithm of w_i would be lost beside them.

A program is started for every node and head, and adds up the edges of its node in their order, so that results do not
change from run to run. Tensors of N·H rows are addressed by row = node · H + head.
"""

from __future__ import annotations

from lipgnn.kernels.triton.pieces import kept_of, program, row_of, rows_of, score_of, tl


@program
def forward(
    query,
    key,
    value,
    query_size,
    key_size,
    start,
    source,
    edge_id,
    seed,
    out,
    highest,
    inverse,
    H: tl.constexpr,
    W: tl.constexpr,
    D: tl.constexpr,
    QUERY_STEP: tl.constexpr,
    KEY_STEP: tl.constexpr,
    ADDITIVE: tl.constexpr,
    SLOPE: tl.constexpr,
    DROPPED: tl.constexpr,
    GAIN: tl.constexpr,
    WIDE: tl.constexpr,
    BROAD: tl.constexpr,
    EDGES: tl.constexpr,
):
    """y_i, h_i and w_i of one target, in one pass: what was added up is rescaled where a larger score turns up."""
    node, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row = node * H + head
    q = row_of(query, row, W, WIDE)
    u = tl.load(query_size + node * QUERY_STEP + head)
    v = tl.load(key_size + node * KEY_STEP + head)
    top = tl.full((), float("-inf"), q.dtype)
    total = tl.full((), 0, q.dtype)
    y = tl.zeros((BROAD,), q.dtype)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        here = edge < end
        sources = tl.load(source + edge, mask=here, other=0).to(tl.int64) * H + head
        score, _ = score_of(q, rows_of(key, sources, here, W, WIDE), u, v, here, ADDITIVE, SLOPE)
        higher = tl.maximum(top, tl.max(score, axis=0))
        shrink = tl.exp(top - higher)
        weight = tl.exp(score - higher)
        total = total * shrink + tl.sum(weight, axis=0)
        if DROPPED:
            weight *= kept_of(edge_id, edge, here, head, seed, DROPPED, GAIN, q.dtype)
        y = y * shrink + tl.sum(weight[:, None] * rows_of(value, sources, here, D, BROAD), axis=0)
        top = higher
    total = tl.where(total == 0, 1, total)  # a node without in-edges: y = 0
    width = tl.arange(0, BROAD)
    tl.store(out + row * D + width, y / total, mask=width < D)
    tl.store(highest + row, top)
    tl.store(inverse + row, 1 / total)


@program
def backward_targets(
    query,
    key,
    value,
    query_size,
    key_size,
    start,
    source,
    edge_id,
    seed,
    highest,
    inverse,
    grad,
    base,
    mean,
    grad_query,
    grad_size,
    H: tl.constexpr,
    W: tl.constexpr,
    D: tl.constexpr,
    QUERY_STEP: tl.constexpr,
    KEY_STEP: tl.constexpr,
    ADDITIVE: tl.constexpr,
    SLOPE: tl.constexpr,
    DROPPED: tl.constexpr,
    GAIN: tl.constexpr,
    WIDE: tl.constexpr,
    BROAD: tl.constexpr,
    EDGES: tl.constexpr,
):
    """What one target i gives back, from the gradient G_i of its output.

        dα_ij = M_ij G_i·x_j − b_i,   μ_i = Σ_j α_ij dα_ij,   ds_ij = α_ij (dα_ij − μ_i)
        dq_i = Σ_j ds_ij s'_ij ∂t_ij/∂q_i,   d log u_i = d log v_i = −Σ_j ds_ij s_ij

    since s is homogeneous in t. One pass: the part with μ_i, known at the end only, is added up by itself.

    No b_i changes ds. It is M_ij G_i·x_j of the largest score: where that takes nearly all the weight, ds is nearly
    zero, and would otherwise be what is rounded off. What was added up moves with it where a larger score turns up.
    """
    node, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row = node * H + head
    q = row_of(query, row, W, WIDE)
    u = tl.load(query_size + node * QUERY_STEP + head)
    v = tl.load(key_size + node * KEY_STEP + head)
    g = row_of(grad, row, D, BROAD)
    most, share = tl.load(highest + row), tl.load(inverse + row)
    top = tl.full((), float("-inf"), q.dtype)
    mu = tl.full((), 0, q.dtype)
    b, total, size_first, size_second = mu, mu, mu, mu
    query_first, query_second = tl.zeros((WIDE,), q.dtype), tl.zeros((WIDE,), q.dtype)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        here = edge < end
        sources = tl.load(source + edge, mask=here, other=0).to(tl.int64) * H + head
        k = rows_of(key, sources, here, W, WIDE)
        score, slope = score_of(q, k, u, v, here, ADDITIVE, SLOPE)
        weight = tl.exp(score - most) * share
        pull = tl.sum(g * rows_of(value, sources, here, D, BROAD), axis=1)
        if DROPPED:
            pull *= kept_of(edge_id, edge, here, head, seed, DROPPED, GAIN, q.dtype)
        higher = tl.max(score, axis=0)
        first = tl.sum(tl.where(tl.arange(0, EDGES) == tl.argmax(score, axis=0), pull, 0), axis=0)
        moved = tl.where(higher > top, first - b, 0)
        mu -= moved * total
        size_first -= moved * size_second
        query_first -= moved * query_second
        b = tl.where(higher > top, first, b)
        top = tl.maximum(top, higher)
        score = tl.where(here, score, 0)
        pull = weight * (pull - b)
        total += tl.sum(weight, axis=0)
        partner = (tl.full(k.shape, 1, q.dtype) if ADDITIVE else k) / v
        mu += tl.sum(pull, axis=0)
        size_first += tl.sum(pull * score, axis=0)
        size_second += tl.sum(weight * score, axis=0)
        query_first += tl.sum((pull * slope)[:, None] * partner, axis=0)
        query_second += tl.sum((weight * slope)[:, None] * partner, axis=0)
    width = tl.arange(0, WIDE)
    tl.store(base + row, b)
    tl.store(mean + row, mu)
    tl.store(grad_query + row * W + width, (query_first - mu * query_second) / u, mask=width < W)
    tl.store(grad_size + row, mu * size_second - size_first)


@program
def backward_sources(
    query,
    key,
    value,
    query_size,
    key_size,
    start,
    target,
    edge_id,
    seed,
    highest,
    inverse,
    grad,
    base,
    mean,
    grad_key,
    grad_value,
    H: tl.constexpr,
    W: tl.constexpr,
    D: tl.constexpr,
    QUERY_STEP: tl.constexpr,
    KEY_STEP: tl.constexpr,
    ADDITIVE: tl.constexpr,
    SLOPE: tl.constexpr,
    DROPPED: tl.constexpr,
    GAIN: tl.constexpr,
    WIDE: tl.constexpr,
    BROAD: tl.constexpr,
    EDGES: tl.constexpr,
):
    """What one source j is given back by the targets it feeds.

    dx_j = Σ_i α_ij M_ij G_i,   dk_j = Σ_i ds_ij s'_ij ∂t_ij/∂k_j
    """
    node, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row = node * H + head
    k = row_of(key, row, W, WIDE)
    x = row_of(value, row, D, BROAD)
    key_sum = tl.zeros((WIDE,), k.dtype)
    value_sum = tl.zeros((BROAD,), k.dtype)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        here = edge < end
        nodes = tl.load(target + edge, mask=here, other=0).to(tl.int64)
        targets = nodes * H + head
        q = rows_of(query, targets, here, W, WIDE)
        g = rows_of(grad, targets, here, D, BROAD)
        u = tl.load(query_size + nodes * QUERY_STEP + head, mask=here, other=1)[:, None]
        v = tl.load(key_size + nodes * KEY_STEP + head, mask=here, other=1)[:, None]
        score, slope = score_of(q, k, u, v, here, ADDITIVE, SLOPE)
        weight = tl.exp(score - tl.load(highest + targets, mask=here, other=0))
        weight *= tl.load(inverse + targets, mask=here, other=0)
        pull = tl.sum(g * x, axis=1)
        kept_weight = weight
        if DROPPED:
            kept = kept_of(edge_id, edge, here, head, seed, DROPPED, GAIN, k.dtype)
            pull *= kept
            kept_weight *= kept
        partner = (tl.full(q.shape, 1, k.dtype) if ADDITIVE else q) / u / v
        pull -= tl.load(base + targets, mask=here, other=0)
        grad_score = weight * (pull - tl.load(mean + targets, mask=here, other=0)) * slope
        key_sum += tl.sum(grad_score[:, None] * partner, axis=0)
        value_sum += tl.sum(kept_weight[:, None] * g, axis=0)
    wide, broad = tl.arange(0, WIDE), tl.arange(0, BROAD)
    tl.store(grad_key + row * W + wide, key_sum, mask=wide < W)
    tl.store(grad_value + row * D + broad, value_sum, mask=broad < D)
