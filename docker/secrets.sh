#!/bin/sh
# Makes what can be made of the secrets: `sh docker/secrets.sh`, once. What is there stays. Slack's are left empty, to be
# filled in; a pack's settings and the callers' secrets are JSON.
set -eu

umask 077
folder=${1:-secrets}
mkdir -p "$folder"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

put() {
    [ -e "$folder/$1" ] || printf '%s\n' "$2" >"$folder/$1"
    chmod 644 "$folder/$1" # containers read it as another user; the folder is its owner's alone
}

put postgres_password "$(random)"
put migrate_database_url "postgresql://countersign_migrate:$(random)@postgres:5432/countersign"
put countersign_database_url "postgresql://countersign:$(random)@postgres:5432/countersign"
put minio_root_user "root-$(random | cut -c1-8)"
put minio_root_password "$(random)"
put countersign_s3_access_key "keeper-$(random | cut -c1-8)"
put countersign_s3_secret_key "$(random)"
put countersign_callers "{\"onboarding-portal\": \"$(random)\"}"
put countersign_pack ""
put countersign_slack_bot_token ""
put countersign_slack_signing_secrets ""
put countersign_slack_app_token ""
