"""Many runs: their plan, how long they may take, and where they are computed."""
