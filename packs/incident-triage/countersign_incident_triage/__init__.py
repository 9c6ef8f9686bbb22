"""Incident triage: classification by rules, and the ServiceNow Table API."""
