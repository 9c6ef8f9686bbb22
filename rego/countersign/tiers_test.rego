package countersign.effect.tiers_test

import data.countersign.effect.given_test as given
import data.countersign.effect.tiers

effective(effect) := tier if {
	tier := tiers.effective with input as given.asked(effect, []) with data.countersign_config as given.config
}

test_configuration_raises_the_declared_tier if {
	effective({"operation": "sort", "tier": "low"}) == "medium"
	effective({"operation": "file", "tier": "low"}) == "high"
}

test_configuration_never_lowers_the_declared_tier if {
	effective({"operation": "note", "tier": "low"}) == "low"
	effective({"operation": "note", "tier": "medium"}) == "medium"
	effective({"operation": "sort", "tier": "high"}) == "high"
}

test_unknown_tier_counts_as_high_and_is_denied if {
	every tier in ["LOW", "", null, 1] {
		effective({"tier": tier}) == "high"
		reasons := tiers.deny with input as given.asked({"tier": tier}, [])
		{reason.code | some reason in reasons} == {"tiers.unknown"}
	}
}
