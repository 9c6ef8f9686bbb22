"""The command line: one file per group of commands, imported when the group is asked for.

Its help is light, too: what a command needs is imported when the command runs. So a group's work stands in a file of
its own where it needs the database, the archive or Slack: `lookup`, `operate`, `verify`, `evidence_archive`,
`period_evidence`, `audit`, `activations`, `installations`.
"""
