"""Block Kit of requests, forms, modals and the App Home; pure."""
