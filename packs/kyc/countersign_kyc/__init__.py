"""Corporate onboarding: GLEIF, a company register, a client portal, and who the beneficial owners are."""
