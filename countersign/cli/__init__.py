"""The command line: one file per group of commands.

`--help` is light: what a command needs is imported when the command runs. So a group's work stands in a file of its own
where it needs the database, the archive or Slack: `verify`, `evidence_archive`,
`period_evidence`, `audit`, `operate`, `definition_moves`, `installations`.
"""
