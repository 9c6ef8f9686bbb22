"""The counter at which the bot asks how somebody is to be told something."""
