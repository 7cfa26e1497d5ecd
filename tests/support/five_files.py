"""A small folder of Gretel's five files, to read and to damage."""

NODES = 8
TRAJECTORIES = 10


def write_five_files(folder, *, rounds=1):
    """A ring of seven nodes, 0 → 1 → … → 6 → 0 by the edges 0..6, edge 7 from 0 to the dead end 7.

    Ten trajectories go around it, with three legs a round: the second begins where the first ended, and the third with
    the last edge of the second. An observation is the node itself, by .75, and the next one around, by .25.
    """
    folder.mkdir(parents=True, exist_ok=True)
    around = NODES - 1
    nodes = [f"{NODES}\t1", *(f"{node}\t{node * node}" for node in range(NODES))]
    ends = [*((node, (node + 1) % around) for node in range(around)), (0, around)]
    edges = [f"{len(ends)}\t2", *(f"{e}\t{a}\t{b}\t{10 + e}.5\t-1" for e, (a, b) in enumerate(ends))]
    legs_each = 3 * rounds
    lengths = [f"{100 + trajectory}\t{legs_each + 1}" for trajectory in range(TRAJECTORIES)]
    observations = [f"{(legs_each + 1) * TRAJECTORIES}\t2"]
    paths = [f"{legs_each * TRAJECTORIES}\t2"]
    for trajectory in range(TRAJECTORIES):
        seen = [trajectory]
        for at in range(trajectory, trajectory + 4 * rounds, 4):
            legs = [[at], [at + 1, at + 2], [at + 2, at + 3]]
            paths += ["\t".join(str(edge % around) for edge in leg) for leg in legs]
            seen += [at + 1, at + 3, at + 4]
        observations += [f"{node % around}\t0.75\t{(node + 1) % around}\t0.25" for node in seen]
    files = {"nodes": nodes, "edges": edges, "lengths": lengths, "observations": observations, "paths": paths}
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def change_line(folder, file, line, text):
    """Replace a line, counted from 1; None takes it out, and a callable makes the new one of the old."""
    path = folder / f"{file}.txt"
    lines = path.read_text().splitlines()
    if text is None:
        del lines[line - 1]
    else:
        lines[line - 1] = text(lines[line - 1]) if callable(text) else text
    path.write_text("".join(f"{each}\n" for each in lines))
