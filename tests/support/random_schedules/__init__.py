"""Random kernels with staged views, `split` and loop schedules: spec text and meaning, drawn side by side."""
