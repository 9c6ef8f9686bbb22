#!/bin/sh
# PostgreSQL runs this once, when its folder is made: the roles that `countersign migrate` grants rights to, and a login
# of the owner, one of the program, and one that loads the directory. Their passwords are those of the addresses that
# the others are given.
set -eu

password() {
    url=$(cat "${SECRETS:-/run/secrets}/$1")
    url=${url#*://*:}
    printf %s "${url%@*}"
}

psql --quiet --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" \
    --set=owner="$(password migrate_database_url)" --set=program="$(password countersign_database_url)" \
    --set=directory="$(password countersign_directory_database_url)" <<'SQL'
CREATE ROLE countersign_owner NOLOGIN;
CREATE ROLE countersign_program NOLOGIN;
CREATE ROLE countersign_directory NOLOGIN;
CREATE ROLE countersign_reader NOLOGIN;
CREATE ROLE countersign_migrate LOGIN PASSWORD :'owner' IN ROLE countersign_owner;
CREATE ROLE countersign LOGIN PASSWORD :'program' IN ROLE countersign_program;
CREATE ROLE countersign_people LOGIN PASSWORD :'directory' IN ROLE countersign_directory;
GRANT CREATE, USAGE ON SCHEMA public TO countersign_owner;
SQL
