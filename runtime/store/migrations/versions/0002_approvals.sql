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

-- where its cards go, as it was decided when people were asked; and the cards beside the one with the thread
ALTER TABLE approvals ADD COLUMN route JSON;
CREATE TABLE card_copies (
    approval_id TEXT NOT NULL,
    place TEXT NOT NULL,
    channel TEXT NOT NULL,
    card_ts TEXT NOT NULL,
    CONSTRAINT pk_card_copies PRIMARY KEY (approval_id, place),
    CONSTRAINT fk_card_copies_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);
