"""The service with which people edit and resubmit a request."""
