"""Backtests: recorded questions are asked of a candidate policy, and the changed answers reported."""
