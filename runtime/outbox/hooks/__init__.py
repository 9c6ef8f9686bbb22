"""What subscribers are told, as effects of the outbox."""
