"""What a run is: its options, where their values come from, which go together, and grids and studies of runs."""
