"""Backtests: what a candidate policy would have answered to the questions on record, and what that changes."""
