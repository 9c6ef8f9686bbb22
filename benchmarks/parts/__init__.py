"""The parts of a run, each of which brings ours and the peers together."""
