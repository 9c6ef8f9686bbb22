"""Time stamps over the audit log's checkpoints: who asks for them, and one that came after a bundle."""
