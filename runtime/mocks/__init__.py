"""Mocks: handlers of an overlay that answer in the place of other systems, and mark what comes of it."""
