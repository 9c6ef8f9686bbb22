"""Human authorization: its rules, and the requests for it."""
