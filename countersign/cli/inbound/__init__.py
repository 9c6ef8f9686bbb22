"""What comes in by command: signals to runs, and answers to tasks."""
