"""Evidence about finished runs: the form of a bundle, its sealing, log places and time stamps, replay."""
