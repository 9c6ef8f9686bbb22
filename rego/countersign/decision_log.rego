# METADATA
# title: OPA's own decision log
# description: >-
#   OPA gives decision ids only while its decision log is on. Decisions are stored with their input elsewhere, so
#   nothing is printed twice.
package system.log

# METADATA
# title: Drop
# description: Drops every entry of the decision log.
drop := true
