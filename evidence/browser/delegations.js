// Step 8: votes for somebody else.

import {same} from "./canonical.js";
import {Broken} from "./errors.js";
import {approvalsOf, eachVote} from "./facts.js";
import {DELEGATION_RECORDED_SHAPE} from "./shapes.generated.js";
import {demandOfTenant} from "./votes.js";

/** A vote for somebody else is by their leave: in its time, for its groups, and recorded by another than the voter. */
export function demandForOthers(facts) {
  eachVote(facts, ({name}, {record: {person, groups, at, delegation}}) => {
    if (delegation === undefined) return;
    const {delegator, recorded_by, starts_at, ends_at} = delegation, whose = `the vote of ${person} for ${delegator}`;
    if (person === delegator || person === recorded_by) throw new Broken(name, `${whose} is by their own leave`);
    if (at < starts_at || at >= ends_at) {
      throw new Broken(name, `${whose} was not given in the time of their delegation`);
    }
    if (!groups.every((group) => delegation.groups.includes(group))) {
      throw new Broken(name, `${whose} is for groups that their delegation does not give`);
    }
  });
}

/** Each delegation by which somebody voted was recorded, as the vote has it, not after that. */
export async function demandDelegations(facts) {
  for (const {name, votes} of approvalsOf(facts)) {
    for (const {record: {person, at, delegation}} of votes.filter(({record}) => record.delegation !== undefined)) {
      const {delegator, recorded_by, acts} = delegation, [first, ...others] = acts;
      const whose = `the delegation by which ${person} voted for ${delegator}`;
      await demandOfTenant(facts, name, whose, acts);
      if (others.length || first.event !== "delegation.recorded") {
        throw new Broken(name, `${whose} has not the one act that recorded it`);
      }
      try {
        DELEGATION_RECORDED_SHAPE(first.data, "");
      } catch (error) {
        throw new Broken(name, `${first.event} is not in its form: ${error.message}`);
      }
      const told = ({delegation_id, groups, starts_at, ends_at, reason}) =>
        [delegation_id, groups, starts_at, ends_at, reason];
      const isSame = same(told(first.data), told(delegation)) && first.data.delegator === delegator;
      if (!isSame || first.data.delegate !== person) throw new Broken(name, `${whose} was recorded otherwise`);
      if (!same([first.actor.id, first.actor.kind], [recorded_by, "person"]) || first.at > at) {
        throw new Broken(name, `${whose} was recorded by ${first.actor.id} at ${first.at}`);
      }
    }
  }
}
