-- how people are told: each of them, and when those are reminded who are asked, as the directory says
ALTER TABLE actors ADD COLUMN notices JSON NOT NULL DEFAULT '{}';
ALTER TABLE directories ADD COLUMN remind JSON NOT NULL DEFAULT '{}';
