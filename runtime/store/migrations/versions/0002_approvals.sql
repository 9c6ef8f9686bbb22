-- why nobody could fulfil it, as it was seen when it was asked; '' where people can
ALTER TABLE approvals ADD COLUMN shortfall text NOT NULL DEFAULT '';

-- what became of what was asked is data, and the bot words it; what the first release worded is shown as it is
ALTER TABLE approvals
    ALTER COLUMN result DROP NOT NULL,
    ALTER COLUMN result DROP DEFAULT,
    ALTER COLUMN result TYPE JSON USING
        CASE WHEN result <> '' THEN json_build_object('code', 'worded', 'about', json_build_array(result)) END;

-- what its author declared for its card, as it was when people were asked
ALTER TABLE approvals ADD COLUMN shown JSON;
