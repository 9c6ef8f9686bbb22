"""Who may answer which requests, for all requests at once."""

from runtime.store.delegations import STANDS_IN

# What `approvals.standing_in.way_to_vote` says of one approval, for all of them at once; who has claimed it, apart.
MAY_ANSWER = f"""
    a.status = 'requested'
    AND (a.kind IN ('in_doubt', 'afterwards') OR coalesce(a.prolonged_until, a.expires_at) > %(now)s)
    AND p.actor_id NOT IN (r.requested_by, r.submitted_by)
    AND NOT (a.requirement::jsonb -> 'exclude') ? p.actor_id
    AND (EXISTS (SELECT 1 FROM jsonb_array_elements_text(p.groups::jsonb) AS g (name)
                  WHERE (a.requirement::jsonb -> 'groups') ? g.name
                     OR a.joined::jsonb ? g.name)
         OR {STANDS_IN})
    AND NOT EXISTS (SELECT 1 FROM votes v WHERE v.approval_id = a.approval_id AND v.withdrawn_at IS NULL
                       AND p.actor_id IN (v.person, v.delegator))
    AND NOT EXISTS (SELECT 1 FROM slack_accounts s
                     WHERE s.tenant = p.tenant AND s.actor_id = p.actor_id
                       AND (EXISTS (SELECT 1 FROM jsonb_array_elements(r.requester_accounts::jsonb) AS own (account)
                                     WHERE own.account = jsonb_build_array(s.team, s.account))
                            OR EXISTS (SELECT 1 FROM votes v WHERE v.approval_id = a.approval_id
                                          AND v.withdrawn_at IS NULL AND v.team = s.team AND v.account = s.account)))
"""  # noqa: S608 - our own clauses
# Nobody else has claimed it who may still answer, and has an account with which to.
IS_FREE = """
    (a.assignee IS NULL OR a.assignee = p.actor_id OR EXISTS (
        SELECT 1 FROM delegations d WHERE d.tenant = p.tenant AND d.delegate = p.actor_id
           AND d.delegator = a.assignee AND d.ended_at IS NULL
           AND d.starts_at <= %(now)s AND d.ends_at > %(now)s) OR NOT EXISTS (
        SELECT 1 FROM actors holder, jsonb_array_elements_text(holder.groups::jsonb) AS g (name)
         WHERE holder.tenant = a.tenant AND holder.actor_id = a.assignee
           AND ((a.requirement::jsonb -> 'groups') ? g.name OR a.joined::jsonb ? g.name)
           AND (NOT EXISTS (SELECT FROM slack_accounts s WHERE (s.tenant, s.actor_id) = (a.tenant, a.assignee))
                OR EXISTS (SELECT FROM slack_accounts s WHERE (s.tenant, s.actor_id) = (a.tenant, a.assignee)
                              AND NOT EXISTS (SELECT FROM slack_absentees x WHERE (x.tenant, x.team, x.account)
                                                    = (s.tenant, s.team, s.account))))))
"""
