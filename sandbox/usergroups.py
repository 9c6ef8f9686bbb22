"""The methods about user groups."""

from sandbox.calls import Args, Json, Method
from sandbox.core import Sandbox
from sandbox.errors import SlackError
from sandbox.limits import TIER_2
from sandbox.workspace import UserGroup


def usergroup_object(sandbox: Sandbox, group: UserGroup, *, with_users: bool) -> Json:
    """Return a user group as Slack describes one; a disabled one has the time since when it is."""
    users = sandbox.users_of(group)
    shown: Json = {
        "id": group.id,
        "team_id": sandbox.workspace.team.id,
        "is_usergroup": True,
        "is_subteam": True,
        "name": group.name,
        "description": "",
        "handle": group.handle,
        "is_external": False,
        "date_create": 0,
        "date_update": 0,
        "date_delete": int(group.is_disabled),
        "auto_provision": False,
        "enterprise_subteam_id": "",
        "user_count": len(users),
    }
    return {**shown, "users": users} if with_users else shown


def usergroups_list(sandbox: Sandbox, args: Args) -> Json:
    """usergroups.list."""
    disabled, with_users = args.flag("include_disabled"), args.flag("include_users")
    shown = [group for group in sandbox.workspace.usergroups if disabled or not group.is_disabled]
    return {"usergroups": [usergroup_object(sandbox, group, with_users=with_users) for group in shown]}


def usergroups_users_list(sandbox: Sandbox, args: Args) -> Json:
    """usergroups.users.list."""
    group = sandbox.workspace.usergroup(args.text("usergroup"))
    if group is None or (group.is_disabled and not args.flag("include_disabled")):
        raise SlackError("no_such_subteam")
    return {"users": sandbox.users_of(group)}


METHODS = {
    "usergroups.list": Method(usergroups_list, TIER_2, "usergroups:read"),
    "usergroups.users.list": Method(usergroups_users_list, TIER_2, "usergroups:read"),
}
