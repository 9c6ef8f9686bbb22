#!/bin/sh
# Makes what can be made of the secrets: `sh docker/secrets.sh`, once. What is there stays. The others are left empty, which
# is not set; lists and mappings are JSON.
set -eu

umask 077
folder=${1:-secrets}
mkdir -p "$folder"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# A private key on P-256 in PEM (PKCS #8): what stands in front of its 32 bytes is always the same.
policy_key() {
    front='\060\101\002\001\000\060\023\006\007\052\206\110\316\075\002\001\006\010\052\206\110\316\075\003\001\007'
    front="$front"'\004\047\060\045\002\001\001\004\040'
    echo "-----BEGIN PRIVATE KEY-----"
    { printf "$front"; head -c 32 /dev/urandom; } | base64 | tr -d '\n' | fold -w 64
    printf '\n%s\n' "-----END PRIVATE KEY-----"
}

put() {
    [ -e "$folder/$1" ] || printf '%s\n' "$2" >"$folder/$1"
    chmod 644 "$folder/$1" # containers read it as another user; the folder is its owner's alone
}

put postgres_password "$(random)"
put migrate_database_url "postgresql://countersign_migrate:$(random)@postgres:5432/countersign"
put countersign_database_url "postgresql://countersign:$(random)@postgres:5432/countersign"
put countersign_directory_database_url "postgresql://countersign_people:$(random)@postgres:5432/countersign"
put policy_signing_key "$(policy_key)"
put countersign_policy_token "$(random)"
put minio_root_user "root-$(random | cut -c1-8)"
put minio_root_password "$(random)"
put countersign_s3_access_key "keeper-$(random | cut -c1-8)"
put countersign_s3_secret_key "$(random)"
put countersign_callers "{\"onboarding-portal\": \"$(random)\"}"
for name in database_direct_url opa_token pack slack_bot_token slack_signing_secrets slack_app_token slack_client_secret \
    slack_token_keys webhook_secrets console_client_secret; do
    put "countersign_$name" ""
done
