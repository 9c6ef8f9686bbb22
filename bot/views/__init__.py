"""Block Kit of requests, forms and modals; pure."""
