# METADATA
# title: Connectors
# description: Which connectors, operations and targets the tenant may use, by the list in its configuration.
# schemas:
#   - input: schema.input
package countersign.effect.connectors

import data.countersign.effect.config
import data.countersign.effect.reasons

# METADATA
# title: Connector
# description: The tenant's entry for the connector.
connector := config.tenant.connectors[input.effect.connector]

# METADATA
# title: Operation
# description: The tenant's entry for the operation.
operation := connector.operations[input.effect.operation]

# METADATA
# title: Permitted
# description: The target matches a pattern of the operation; "*" stays within one "/" segment, "**" does not.
permitted if {
	some pattern in operation.targets
	glob.match(pattern, ["/"], input.effect.target)
}

# METADATA
# title: Connector not allowed
# description: Denies connectors that the tenant's configuration does not list.
# custom:
#   short_name: connectors.connector
#   failure_msg: The tenant may not use this connector
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	not connector
}

# METADATA
# title: Operation not allowed
# description: Denies operations that the tenant's configuration does not list.
# custom:
#   short_name: connectors.operation
#   failure_msg: The tenant may not use this operation of the connector
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	connector
	not operation
}

# METADATA
# title: Target not allowed
# description: Denies targets that match no pattern of the operation.
# custom:
#   short_name: connectors.target
#   failure_msg: The tenant may not use this operation on this target
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	operation
	not permitted
}
