// Step 8: votes that do without the others.

import {usesBreakGlass} from "./authority.js";
import {same} from "./canonical.js";
import {Broken} from "./errors.js";
import {approvalsOf} from "./facts.js";
import {agree, byCodePoint, lasts, microseconds, saysSomething, SPACES_AROUND} from "./rules.js";

/** Return the votes that used break-glass, each with its approval. */
const breakGlassUsed = (facts) => approvalsOf(facts).flatMap((approval) =>
  approval.votes.filter(({record}) => record.break_glass !== undefined)
    .map(({record, leaf}) => [approval, record, leaf.seq]));

/** Return whether people were asked afterwards about a vote. */
const isAboutBreakGlass = ({record: asked}, {record}, {at}) =>
  same([asked.effect_id, asked.digest, asked.step, asked.requested_at], [record.effect_id, record.digest, record.step, at]);

/** Break-glass is used by who might, with a reason and a ticket, as often as it says, and people are asked if rightly. */
export function demandBreakGlass(facts) {
  const broken = breakGlassUsed(facts);
  for (const [approval, vote, seq] of broken) {
    const {name, record: {kind, requirement}} = approval, whose = `${vote.person} used break-glass`;
    if (kind !== "effect" || !usesBreakGlass(requirement, vote)) throw new Broken(name, `${whose}, and might not`);
    if (!saysSomething(vote.reason) || vote.break_glass.ticket.replace(SPACES_AROUND, "") === "") {
      throw new Broken(name, `${whose}, and says not why`);
    }
    const since = microseconds(vote.at) - lasts(requirement.break_glass.within, name);
    const lately = broken.filter(([, {person, at}, place]) =>
      person === vote.person && place < seq && microseconds(at) > since);
    if (vote.break_glass.nth <= lately.length) throw new Broken(name, `${whose} more often than it says`);
    if (approvalsOf(facts, "afterwards").filter((review) => isAboutBreakGlass(review, approval, vote)).length !== 1) {
      throw new Broken(name, `${whose}, and people were not asked once whether that was right`);
    }
  }
}

/** Who is asked afterwards is asked about break-glass, and is none of those who did or wanted it. */
export function demandOfBreakGlassReview(facts) {
  for (const review of approvalsOf(facts, "afterwards")) {
    const about = breakGlassUsed(facts).find(([approval, vote]) => isAboutBreakGlass(review, approval, vote));
    if (!about) throw new Broken(review.name, "nobody used break-glass when it was asked");
    const [approval, {person}] = about, {quorum, all_groups, reason_required, escalate_to, groups, exclude, expires_in} =
      review.record.requirement, breakGlass = approval.record.requirement.break_glass;
    if (breakGlass === undefined) throw new Broken(approval.name, "allows no break-glass");
    agree(review.name, approval.name, {
      requirement: [[quorum, all_groups, reason_required, escalate_to], [1, false, true, []]],
      groups: [groups, breakGlass.review_by],
      within: [expires_in, breakGlass.review_within],
      exclude: [exclude, [...new Set([person, facts.run.requested_by, facts.run.submitted_by])].sort(byCodePoint)],
    });
  }
}
