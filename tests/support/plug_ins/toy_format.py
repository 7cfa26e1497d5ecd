"""A format of one text file: a line with the labels, then a line for every edge."""

import numpy as np

from lipgnn.datasets.source import Source, Split, damaged


class Pairs:
    """`NAME.pairs`: nodes have one feature each, their number modulo three; every third is for testing."""

    description = "a .pairs file"

    def recognizes(self, path):
        return path.suffix == ".pairs" and path.is_file()

    def read(self, path):
        first, *lines = path.read_text().splitlines()
        labels = np.array(first.split(), dtype=np.int64)
        edges = np.array([line.split() for line in lines], dtype=np.int64).T
        if edges.shape[0] != 2:
            raise damaged(path, "a line is no pair of nodes")
        nodes = np.arange(len(labels))
        features = np.eye(3, dtype=np.float32)[nodes % 3]
        split = Split(nodes % 3 == 0, nodes % 3 == 1, nodes % 3 == 2)
        return Source(path.stem, edges, False, features, labels, {"public": split}, origin=str(path))
