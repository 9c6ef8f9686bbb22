"""The App Home's views; pure."""
