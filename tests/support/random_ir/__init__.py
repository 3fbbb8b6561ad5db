"""Random functions of the IR: every op, type and kind of memory, for comparing devices bit by bit."""
