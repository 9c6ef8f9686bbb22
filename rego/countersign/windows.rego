# METADATA
# title: Windows
# description: When an allowed effect may be carried out, where the tenant's list of operations says so.
# schemas:
#   - input: schema.input
package countersign.effect.windows

import data.countersign.effect.config

# METADATA
# title: Said
# description: The member `execute` of an answer or a requirement; nothing where the tenant's list says nothing of it.
default said := {}

said := {"execute": _operation.execute} if type_name(_operation.execute)

_operation := config.tenant.connectors[input.effect.connector].operations[input.effect.operation]
