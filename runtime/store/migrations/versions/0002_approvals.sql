-- why nobody could fulfil it, as it was seen when it was asked; '' where people can
ALTER TABLE approvals ADD COLUMN shortfall text NOT NULL DEFAULT '';
