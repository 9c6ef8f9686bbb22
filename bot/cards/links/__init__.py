"""Our own links: how they are shown, and what Slack shows of one that somebody has shared."""
