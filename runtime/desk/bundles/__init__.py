"""The counters about evidence: what is sealed, held, handed out, exported and stamped."""
