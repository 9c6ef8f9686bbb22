"""The group `held`: steps that wait for a person to say how they go on."""
