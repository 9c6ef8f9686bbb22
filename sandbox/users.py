"""Users and user groups: the methods about the workspace and its people, and the ones about the connection itself."""

from sandbox.conversations import page
from sandbox.core import Args, Json, Method, Sandbox
from sandbox.slack_errors import GENEROUS, TIER_2, TIER_3, TIER_4, SlackError
from sandbox.workspace import User, UserGroup, is_whole


def user_object(sandbox: Sandbox, user: User) -> Json:
    """Return a user as Slack describes one; a deactivated one comes without roles."""
    team_id = sandbox.workspace.team_of(user)
    profile = {
        "title": user.title,
        "real_name": user.real_name,
        "real_name_normalized": user.real_name,
        "display_name": user.name,
        "display_name_normalized": user.name,
        "status_text": "",
        "status_emoji": "",
        "team": team_id,
    }
    if user.email and "users:read.email" in sandbox.workspace.app.scopes:
        profile["email"] = user.email
    common = {
        "id": user.id,
        "team_id": team_id,
        "name": user.name,
        "deleted": user.deleted,
        "profile": profile,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "is_email_confirmed": bool(user.email) and user.is_email_confirmed,
    }
    organization = sandbox.workspace.enterprise_of(user)
    if organization:
        common["enterprise_user"] = {"id": user.id, "enterprise_id": organization, "teams": [team_id]}
    if user.deleted:
        return common
    roles = {"is_admin": False, "is_owner": False, "is_primary_owner": False}
    guest = {"is_restricted": user.is_restricted, "is_ultra_restricted": user.is_ultra_restricted}
    guest = {} if user.is_restricted is None else guest
    return {**common, "real_name": user.real_name, "tz": "Etc/UTC", "tz_offset": 0, **roles, **guest}


def users_info(sandbox: Sandbox, args: Args) -> Json:
    """users.info."""
    user = sandbox.workspace.user(args.text("user"))
    if user is None:
        raise SlackError("user_not_found")
    if not sandbox.visible(user):
        raise SlackError("user_not_visible")
    return {"user": user_object(sandbox, user)}


def users_list(sandbox: Sandbox, args: Args) -> Json:
    """users.list."""
    visible = [user_object(sandbox, user) for user in sandbox.workspace.users if sandbox.visible(user)]
    members, metadata = page(visible, args, default=1000, highest=1000)
    return {"members": members, "cache_ts": int(sandbox.clock().timestamp()), "response_metadata": metadata}


def team_info(sandbox: Sandbox, args: Args) -> Json:
    """team.info."""
    team = sandbox.workspace.team
    if args.text("team", team.id) != team.id:
        raise SlackError("team_not_found")
    return {"team": {"id": team.id, "name": team.name, "domain": team.domain, "email_domain": "", "url": args.base_url}}


def auth_test(sandbox: Sandbox, args: Args) -> Json:
    """auth.test."""
    workspace = sandbox.workspace
    bot = workspace.user(workspace.app.bot_user_id)
    return {
        "url": args.base_url,
        "team": workspace.team.name,
        "user": bot.name if bot else "",
        "team_id": workspace.team.id,
        "user_id": workspace.app.bot_user_id,
        "bot_id": workspace.bot_id,
        "is_enterprise_install": is_whole(workspace),
        **({"enterprise_id": workspace.team.enterprise_id} if workspace.team.enterprise_id else {}),
    }


def bots_info(sandbox: Sandbox, args: Args) -> Json:
    """bots.info."""
    workspace = sandbox.workspace
    bot = workspace.user(workspace.app.bot_user_id)
    if bot is None or args.text("bot") != workspace.bot_id:
        raise SlackError("bot_not_found")
    said = {"id": workspace.bot_id, "deleted": False, "name": bot.real_name, "updated": 0}
    return {"bot": {**said, "app_id": workspace.app.id, "user_id": bot.id, "icons": {}}}


METHODS = {
    "bots.info": Method(bots_info, TIER_3, "users:read"),
    "users.info": Method(users_info, TIER_4, "users:read"),
    "users.list": Method(users_list, TIER_2, "users:read"),
    "team.info": Method(team_info, TIER_3, "team:read"),
    "auth.test": Method(auth_test, GENEROUS),
}


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


USERGROUP_METHODS = {
    "usergroups.list": Method(usergroups_list, TIER_2, "usergroups:read"),
    "usergroups.users.list": Method(usergroups_users_list, TIER_2, "usergroups:read"),
}
