"""What teams of processes do in tests; each function is a job of `teamwork.together`."""

from __future__ import annotations

import contextlib

import torch
from torch import nn

from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.tasks.batches import Share, logits_of
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.distributed.batch_norm import SharedBatchNorm
from lipgnn.training.distributed.evaluation import divided_logits
from lipgnn.training.divergence import Diverged
from lipgnn.training.saving import hand_over, pass_on, restore, save, take_over
from lipgnn.training.state import Training

CPU = torch.device("cpu")


def talk(team):
    """All that a team can say."""
    rank = team.share.rank
    rows = torch.arange(2 * rank, dtype=torch.float32).view(-1, 2) + 10 * rank
    return {
        "total": team.total([rank, 0.5]),
        "any": [team.any(rank == 1), team.any(False)],
        "said": team.say({"text": "ü", "number": 1 / 3} if rank == 0 else None),
        "spread": [team.spread(b"\x00\xff" * 1000 if rank == 0 else b""), team.spread(b"")],
        "collected": team.collect(b"x" * rank),
        "rows": team.rows(rows if rank else torch.empty(0, 0)),
    }


def batch_norm(team, x, weights, sizes):
    """What a norm of all workers makes of its rows, with gradients: `sizes` rows each, of which 0 is an idle worker."""
    norm = SharedBatchNorm(nn.BatchNorm1d(x.shape[1]).double(), team)
    first = sum(sizes[: team.share.rank])
    count = sizes[team.share.rank]
    team.counts = count > 0
    own = (x[first : first + count] if count else x[:1]).clone().requires_grad_()
    out = norm(own)
    weight = weights[first : first + count] if count else torch.zeros_like(out)
    (out * weight).sum().backward()
    gradients = [norm.weight.grad, norm.bias.grad, own.grad] if count else [norm.weight.grad, norm.bias.grad, None]
    return (out.detach() if count else None), gradients, {k: v.clone() for k, v in norm.state_dict().items()}


def training_of(team, values, weights=None):
    spec = RunSpec.from_mapping({**values, "workers": team.size})
    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    training = Training(spec, dataset, CPU, weights, share=team.share)
    training.join(team)
    return training


def steps(team, values, epochs):
    """Weights, memory and traffic after some epochs, and the lines of the log."""
    training = training_of(team, values)
    lines = []
    for _ in range(epochs):
        with contextlib.suppress(Diverged):
            lines.append(training.step())
    return _what_is_left(training, lines)


def _what_is_left(training, lines):
    exchange = training.learner.exchange
    return {
        "weights": {name: tensor.clone() for name, tensor in training.network.state_dict().items()},
        "exchange": {name: tensor.clone() for name, tensor in exchange.tensors().items()} if exchange else {},
        "bits": (exchange.sent_bits, exchange.dense_bits) if exchange else None,
        "losses": [(line.train_loss, line.test_score, line.grad_norm) for line in lines if line],
        "stream": torch.get_rng_state(),
        "earlier": training.earlier_workers,
    }


def saved(team, values, epochs, folder):
    """The same, and a checkpoint of it."""
    training = training_of(team, values)
    lines = [training.step() for _ in range(epochs)]
    save(training, CheckpointFile(folder)) if team.leads else hand_over(training)
    return _what_is_left(training, lines)


def resumed(team, values, epochs, folder):
    """The same from that checkpoint on, and what it was right after it was read."""
    training = training_of(team, values)
    if team.leads:
        read = CheckpointFile(folder).read(training.spec)
        # Followers are told by their loop; here they know.
        order, team.order = team.order, lambda what: None
        pass_on(training, *read)
        team.order = order
        restore(training, *read)
    else:
        take_over(training)
    begun = _what_is_left(training, [])
    return begun, _what_is_left(training, [training.step() for _ in range(epochs)])


def evaluated(team, values):
    """Outputs of all items, computed together, and by this process alone."""
    spec = RunSpec.from_mapping({**values, "workers": team.size})
    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    training = Training(spec, dataset, CPU, share=team.share)
    network = training.network.eval()
    together = divided_logits(network, training.batches, team)
    training.batches.share = Share()
    return together, logits_of(network, training.batches)


def virtual_iterates(team, compress, count):
    """x_t − x̃_t and the mean of all memories, after steps on a regression of which each worker has its own rows."""
    from lipgnn.spec.compression import parse_compress
    from lipgnn.training.distributed.replica import replica
    from lipgnn.training.gradients.exchange import Exchange

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    exchange = Exchange(model.named_parameters(), parse_compress(compress), seed=3)
    ddp = replica(model, team, exchange)
    virtual = torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.manual_seed(7 + team.share.rank)
    worst = 0.0
    for step in range(count):
        rate = exchange.rate = 0.1 / (1 + 0.1 * step)
        x, y = torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 1, dtype=torch.float64)
        model.zero_grad()
        own = torch.autograd.grad((model(x) - y).square().mean(), list(model.parameters()))
        (ddp(x) - y).square().mean().backward()
        flat = torch.cat([g.flatten() for g in own])
        torch.distributed.all_reduce(flat, group=team.group)
        virtual -= rate * flat / team.size
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
        memory = torch.cat([exchange.memory.of(name) for name, _ in model.named_parameters()])
        kept = memory.clone()
        torch.distributed.all_reduce(memory, group=team.group)
        now = torch.cat([p.detach().flatten() for p in model.parameters()])
        worst = max(worst, float((now - virtual - memory / team.size).abs().max()))
    return worst, now, kept


assert dgl
