"""Names and descriptions of how weights are changed: optimizers, courses of the learning rate, exchanged gradients."""

from __future__ import annotations

from lipgnn.catalog.entry import Entry

OPTIMIZERS: dict[str, Entry] = {
    "adam": Entry("Adam (Kingma & Ba 2015)"),
    "sgd": Entry("stochastic gradient descent without momentum"),
    "memsgd": Entry(
        "stochastic gradient descent by sparse steps with memory; the model is a weighted mean of all steps "
        "(Stich et al. 2018)",
        {"compress": "topk:0.01"},
    ),
}

SCHEDULES: dict[str, Entry] = {
    "none": Entry("the learning rate stays as it is"),
    "plateau": Entry("a tenth of it after ten evaluations without a smaller validation loss"),
    "cosine": Entry("it falls along a cosine, epoch by epoch"),
    "halve": Entry("half of it after ten evaluations without a gain (Alon & Yahav 2021)"),
    "inverse": Entry("lr · a/(a + t) at step t, with a from --shift (Stich et al. 2018)"),
}

SCALES: dict[str, Entry] = {
    "lr": Entry("what is left out is kept times the learning rate of its step, as in the theory of Mem-SGD"),
    "none": Entry("what is left out is kept as it is, and is applied with the learning rate of the step that sends it"),
}

MEMORIES: dict[str, Entry] = {
    "on": Entry("what is left out of a gradient is added to the next one"),
    "off": Entry("what is left out of a gradient is lost"),
}
