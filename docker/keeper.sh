#!/bin/sh
# Makes the workers' user of MinIO: it can add evidence and read it, and delete none. Safe to run again.
set -eu

secret() { cat "/run/secrets/$1"; }

export MC_CONFIG_DIR=/tmp/mc
mc alias set store "$COUNTERSIGN_S3_ENDPOINT" "$(secret minio_root_user)" "$(secret minio_root_password)" >/dev/null
while IFS= read -r line; do
    case $line in *:::BUCKET*) line=${line%%:::BUCKET*}:::$COUNTERSIGN_S3_BUCKET${line#*:::BUCKET} ;; esac
    printf '%s\n' "$line"
done </docker/keeper.json >/tmp/keeper.json
mc admin policy create store keeper /tmp/keeper.json
mc admin user add store "$(secret countersign_s3_access_key)" "$(secret countersign_s3_secret_key)"
mc admin policy attach store keeper --user "$(secret countersign_s3_access_key)" || \
    mc admin policy entities store --user "$(secret countersign_s3_access_key)" | grep -q keeper
