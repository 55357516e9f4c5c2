"""Whether an estimate predicts what it wasn't fitted to."""
