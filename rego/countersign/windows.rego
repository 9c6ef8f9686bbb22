# METADATA
# title: Windows
# description: When an allowed effect may be carried out, where the tenant's list of operations says so.
# schemas:
#   - input: schema.input
package countersign.effect.windows

import data.countersign.effect.config
import data.countersign.effect.reasons
import data.countersign.effect.terms

# METADATA
# title: Said
# description: >-
#   The member `execute` of an answer or a requirement: what the tenant's list, limits and rules of packs say, nothing where
#   none says anything. Of several, what lets less through; the times of the week of one of them, if they agree.
default said := {}

said := {"execute": window} if {
	count(_stated) == 1
	some window in _stated
}

said := {"execute": object.union_n([latest, shortest, week])} if {
	count(_stated) > 1
	latest := {"not_before": max(moments) | moments := {one.not_before | some one in _stated}; count(moments) > 0}
	shortest := {"within": terms.shortest({object.get(one, "within", "P1D") | some one in _stated})}
	week := object.union_n([one | some one in _weeks])
}

# METADATA
# title: Permitted
# description: No two say different times of the week.
permitted if count(_weeks) <= 1

# METADATA
# title: Windows that contradict each other
# description: Denies what two limits want carried out at different times of the week.
# custom:
#   short_name: windows.contradiction
#   failure_msg: Two limits name different times of the week to carry this out
deny contains reasons.of(rego.metadata.rule()) if not permitted

_stated contains window if window := config.tenant.connectors[input.effect.connector].operations[input.effect.operation].execute

_stated contains one.execute if some one in terms.additions

_weeks contains {"between": one.between, "time_zone": one.time_zone} if some one in _stated
