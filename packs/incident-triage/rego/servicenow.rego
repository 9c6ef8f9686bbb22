# METADATA
# title: Incidents in ServiceNow
# description: A change to an urgent incident takes an incident manager, by the tenant's requirement "urgent_incident".
# schemas:
#   - input: schema.input
package countersign_pack.incident_triage.servicenow

import data.countersign.effect.reasons
import data.countersign.effect.tiers

# METADATA
# title: Routine
# description: A low-tier write, or one to an incident whose priority is known and below 1.
routine if tiers.effective == "low"

routine if input.effect.fields.priority in {2, 3, 4, 5, "2", "3", "4", "5"}

# METADATA
# title: Demand for routine work
# description: Nobody signs it.
demand := {"requirement": "none"} if routine

# METADATA
# title: Urgent incident
# description: Changing an urgent incident takes an incident manager.
# custom:
#   short_name: incidents.urgent
#   failure_msg: A change to an incident of priority 1, or of unknown priority, needs an incident manager's signature
demand := {"requirement": "urgent_incident", "reason": reasons.of(rego.metadata.rule())} if not routine
