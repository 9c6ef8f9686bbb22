# METADATA
# title: Meta-policy
# description: >-
#   What every policy file must fulfil, judged on its syntax tree. The input is {"modules": [...]} with what
#   "opa parse --format json --json-include=-comments,locations" prints for each file.
package meta

# METADATA
# title: Package without description
# description: Each package states title and description once.
# custom:
#   short_name: meta.package_undescribed
#   failure_msg: the package needs METADATA with title and description
deny contains _violation(rego.metadata.rule(), module.package.location) if {
	some module in input.modules
	not _package(module) in _described_packages
}

# METADATA
# title: Public rule without description
# description: Each rule whose name does not start with "_" states title and description.
# custom:
#   short_name: meta.rule_undescribed
#   failure_msg: the public rule needs METADATA with title and description
deny contains _violation(rego.metadata.rule(), _location(rule)) if {
	some module in input.modules
	some rule in module.rules
	not startswith(_name(rule), "_")
	not [_package(module), _name(rule)] in _described_rules
}

# METADATA
# title: Reason without code
# description: Each rule that denies, or makes a reason of its METADATA, states short_name and failure_msg.
# custom:
#   short_name: meta.reason_uncoded
#   failure_msg: the rule gives a reason and needs custom.short_name and custom.failure_msg
deny contains _violation(rego.metadata.rule(), _location(rule)) if {
	some module in input.modules
	some rule in module.rules
	_gives_reason(rule)
	not _coded(rule)
}

# METADATA
# title: Code used twice
# description: A reason's code names one rule.
# custom:
#   short_name: meta.code_reused
#   failure_msg: the short_name is taken by another rule
deny contains _violation(rego.metadata.rule(), annotation.location) if {
	some annotation in _annotations
	some other in _annotations
	annotation.custom.short_name == other.custom.short_name
	annotation.location != other.location
}

# METADATA
# title: Pack without an answer
# description: A pack's rules on a connector, the package countersign_pack.PACK.CONNECTOR, state who signs.
# custom:
#   short_name: meta.pack_silent
#   failure_msg: the package countersign_pack.PACK.CONNECTOR needs a rule `demand` that says who signs
deny contains _violation(rego.metadata.rule(), module.package.location) if {
	some module in input.modules
	count(module.package.path) == 4
	module.package.path[1].value == "countersign_pack"
	not _package(module) in _demanding_packages
}

# METADATA
# title: Impure policy
# description: A decision follows from input and data alone, so that it can be replayed. The time is input.time.
# custom:
#   short_name: meta.impure
#   failure_msg: the rule calls a built-in whose result is not given by input and data
deny contains _violation(rego.metadata.rule(), _location(rule)) if {
	some module in input.modules
	some rule in module.rules
	walk(rule, [_, node])
	node.type == "ref"
	_dotted(node.value) in {
		"http.send",
		"net.lookup_ip_addr",
		"opa.runtime",
		"rand.intn",
		"time.now_ns",
		"uuid.rfc4122",
	}
}

_violation(rule, location) := {
	"code": rule.custom.short_name,
	"msg": rule.custom.failure_msg,
	"file": location.file,
	"row": location.row,
}

_dotted(ref) := concat(".", [sprintf("%v", [part.value]) | some part in ref])

_package(module) := _dotted(module.package.path)

_name(rule) := _dotted(rule.head.ref)

_location(rule) := rule.head.ref[0].location

_titled(annotation) if {
	annotation.title != ""
	annotation.description != ""
}

_described_packages contains _package(module) if {
	some module in input.modules
	some annotation in module.annotations
	annotation.scope == "package"
	_titled(annotation)
}

_demanding_packages contains _package(module) if {
	some module in input.modules
	some rule in module.rules
	_name(rule) == "demand"
}

_described_rules contains [_package(module), _name(rule)] if {
	some module in input.modules
	some rule in module.rules
	some annotation in rule.annotations
	_titled(annotation)
}

_gives_reason(rule) if _name(rule) == "deny"

_gives_reason(rule) if {
	walk(rule, [_, node])
	node.type == "ref"
	_dotted(node.value) == "rego.metadata.rule"
}

_coded(rule) if {
	some annotation in rule.annotations
	annotation.custom.short_name != ""
	annotation.custom.failure_msg != ""
}

_annotations contains annotation if {
	some module in input.modules
	some annotation in module.annotations
}
