"""A witness of logs (c2sp.org/tlog-witness): it signs a log's checkpoint only if it continues the last one it signed.

It is a program of its own, run by somebody else than the log, and knows of a log no more than its key.
"""
