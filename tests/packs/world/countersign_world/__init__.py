"""The pack of the fault harness: its handlers speak HTTP to an upstream that misbehaves."""
