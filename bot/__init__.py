"""The Slack side: cards, modals, App Home, identity, and Slack as a connector."""
