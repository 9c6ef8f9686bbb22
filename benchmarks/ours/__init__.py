"""Countersign under measurement: real `countersign serve` processes, reached through their public doors.

What the benchmark knows of the product's insides stands in `plant`, `parked` and `slack`, and nowhere else.
"""
