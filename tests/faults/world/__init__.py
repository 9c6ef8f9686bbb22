"""The world of the fault harness: real processes, what stands between them, and what they write down."""
