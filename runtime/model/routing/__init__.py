"""Where cards go: the tenant's rules, and the route of one request, decided once."""
