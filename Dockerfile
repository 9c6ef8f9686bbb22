# The program for every role. pip takes packages from wherever it is set to, and only those that the lock file names.
FROM openpolicyagent/opa:1.22.0-static AS opa

FROM python:3.11.14-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

COPY requirements.lock ./
RUN pip install --no-input --require-hashes --no-deps --only-binary :all: -r requirements.lock

# What previews and explains policies; the one that decides is a service of its own.
COPY --from=opa /opa /opa
ENV COUNTERSIGN_OPA=/opa

COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY console console
COPY countersign countersign
COPY edge edge
COPY evidence evidence
COPY packs packs
COPY policy policy
COPY receipts receipts
COPY rego rego
COPY runtime runtime
COPY sandbox sandbox
COPY witness witness
RUN pip install --no-input --no-deps --no-build-isolation --no-index --editable . && python -m compileall -q .

# Volumes take over the owner of the folder that they are mounted on.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin countersign \
    && install -d -o countersign -g countersign -m 700 /keys \
    && install -d -o countersign -g countersign -m 755 /policy \
    && install -d -o countersign -g countersign -m 755 /policy_key
USER countersign

ENV COUNTERSIGN_HOST=0.0.0.0
# Where the Python packages of your own packs are, if you have any.
ENV PYTHONPATH=/own/python
EXPOSE 8080
ENTRYPOINT ["countersign"]
CMD ["serve"]
