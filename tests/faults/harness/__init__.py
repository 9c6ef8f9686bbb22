"""The fault harness: a schedule that is a function of its seed, the clients that keep the world busy, and the verdict."""
