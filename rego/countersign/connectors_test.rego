package countersign.effect.connectors_test

import data.countersign.effect.connectors
import data.countersign.effect.given_test as given

codes(effect) := {reason.code | some reason in reasons} if {
	reasons := connectors.deny with input as given.asked(effect, []) with data.countersign_config as given.config
}

test_listed_connector_operation_and_target_are_permitted if {
	codes({}) == set()
	connectors.permitted with input as given.question with data.countersign_config as given.config
}

test_unlisted_connector_is_denied if {
	codes({"connector": "mail"}) == {"connectors.connector"}
	codes({"connector": null}) == {"connectors.connector"}
}

test_unlisted_operation_is_denied if {
	codes({"operation": "burn"}) == {"connectors.operation"}
}

test_unlisted_target_is_denied if {
	codes({"target": "shelf/1"}) == {"connectors.target"}
	codes({"target": 7}) == {"connectors.target"}
}

test_one_star_stays_within_a_segment if {
	codes({"target": "books/1/2"}) == {"connectors.target"}
	codes({"target": "desk/1/2"}) == set()
}
