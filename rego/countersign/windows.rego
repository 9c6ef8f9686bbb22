# METADATA
# title: Windows
# description: When an allowed effect may be carried out, where the tenant's list of operations says so.
# schemas:
#   - input: schema.input
package countersign.effect.windows

import data.countersign.effect.config
import data.countersign.effect.packs
import data.countersign.effect.strictest

# METADATA
# title: Said
# description: >-
#   The member `execute` of an answer or a requirement: what the tenant's list says, or a pack's rule, or what both let
#   through; nothing where neither says anything of it.
default said := {}

said := {"execute": strictest.window(_windows)} if count(_windows) > 0

_windows contains config.tenant.connectors[input.effect.connector].operations[input.effect.operation].execute

_windows contains packs.demand.terms.execute
