"""Time stamps of authorities (RFC 3161): asked for, read and checked. Pure: who carries them stands elsewhere."""
