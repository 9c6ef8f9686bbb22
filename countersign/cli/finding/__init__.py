"""What auditors do beside verifying a bundle: find runs, list votes, export a period, verify an export."""
