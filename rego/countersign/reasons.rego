# METADATA
# title: Reasons
# description: Makes the reasons that people read and auditors search for.
package countersign.effect.reasons

# METADATA
# title: Reason of a rule
# description: The code and the sentence that a rule's own METADATA states.
of(rule) := {"code": rule.custom.short_name, "msg": rule.custom.failure_msg}
