"""Corporate onboarding: GLEIF, Bloomberg, a company register, a client portal, and who the beneficial owners are."""
