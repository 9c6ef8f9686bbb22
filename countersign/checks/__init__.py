"""What a doctor and a probe look at."""
