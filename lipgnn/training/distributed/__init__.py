"""One run on several processes, of this machine or of several, which divide every batch among them.

surroundings   which of how many workers this process is, where a launcher such as torchrun has started it
launch         starts the other workers on this machine, and sees to it that they end
worker         the program of such a process
team           what workers say to each other
follower       what every worker but the first does: what the first one says
replica        the network of a worker, whose gradients are those of all of them
batch_norm     statistics over the items of all workers
evaluation     outputs of all items, of which every worker computes its share

Worker 0 is the process that was called: it alone has a run folder, shows progress, selects and decides.
"""
