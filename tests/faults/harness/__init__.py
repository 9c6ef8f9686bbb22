"""The fault harness: a schedule that is a function of its seed, clients that keep the world busy, and the verdict."""
