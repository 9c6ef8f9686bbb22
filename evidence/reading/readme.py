"""The text that tells an auditor what a bundle is and how to check it without any program of ours."""

from evidence.reading.markdown import code
from evidence.reading.timeline import first_code
from evidence.records import RunRecord

_TEXT = """\
# Evidence about one run

This archive holds everything on record about the run @RUN@ of tenant @TENANT@, from its first moment to the one at
which it was sealed. It was signed with the key whose id is

    @KEY@

Trust it only if you have that key's PEM file from someone you trust, by another way than this archive. The key id is
the SHA-256 of the key: `openssl pkey -pubin -in KEY.pub.pem -outform DER | sha256sum`.

## What is in it

- `run.json`: the run, its steps, its waits, and the head of its audit chain
- `definition.json`: what was executed; its SHA-256 is the definition's digest
- `decisions/`: every question that was put to policy, and the answer
- `policies/`: the exact text of the policies that answered; each folder is named after its digest
- `approvals/`: what people were asked, the cards as they saw them, and how they voted
- `receipts/`: what was attempted and what happened; secrets were taken out before anything was hashed, and where
  they stood is listed in `redacted`
- `audit.jsonl`: every change of state, one to a line, each bound to the one before it
- `timeline.md`: the same, to read
- `statement.dsse.json`: the SHA-256 of each file above, signed

## Check it with the program

    countersign evidence verify THIS.zip --key KEY.pub.pem

It needs no network, no database and no secret, and names the first thing that does not hold.

## Check it by hand

Unpack the archive into an empty folder, and there:

1. The signature (DSSE: Ed25519 over the type and the exact bytes of the statement).

       jq -r .payload statement.dsse.json | base64 -d > ../statement.json
       jq -r '.signatures[0].sig' statement.dsse.json | base64 -d > ../signature
       printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < ../statement.json)" > ../signed
       cat ../statement.json >> ../signed
       openssl pkeyutl -verify -pubin -inkey KEY.pub.pem -rawin -in ../signed -sigfile ../signature

2. The files. All must be OK, and there must be no file but these and the statement.

       jq -r '.subject[] | .digest.sha256 + "  " + .name' ../statement.json | sha256sum -c --strict

3. The audit chain. Line N's hash is the SHA-256 of a zero byte and the line without its `hash`; line N+1 repeats it as
   `prev_hash`. The first `prev_hash` is 64 zeros; the last hash is @HEAD@, line @SEQ@.

       N=1; (printf '\\0'; sed -n "${N}p" audit.jsonl | tr -d '\\n' \\
         | sed -E 's/"hash":"[0-9a-f]{64}",("prev_hash":"[0-9a-f]{64}","run_id":"[^"]*","seq":[0-9]+\\})$/\\1/') \\
         | sha256sum

4. The records. Each `receipt.written` and each `decision.recorded` in `audit.jsonl` names a file and its SHA-256; each
   `vote.counted` is a vote in `approvals/`.

       jq -r 'select(.event == "receipt.written") | .data.digest + "  " + .data.receipt_id' audit.jsonl
       sha256sum receipts/*

5. The authority. Each receipt that says `success` names a decision that says `allow` for the same digest; where a
   decision for it said `needs_approval`, the receipt names an approval with the votes that were asked for, none of
   them the requester's.
"""


_SINCE_2 = {
    "## What is in it\n": """\
## What is in it

Begin with `summary.md`: one page that says who asked for what about whom, what people saw and said, and what was done.
""",
    "- `audit.jsonl`: every": """\
- `reads/`: what was read, with what it used and cost; of the question and the answer, the size and a commitment
- `costs.json`: what the run used and cost, by provider and model, as the reads and the receipts tell
- `audit.jsonl`: every""",
    "- `timeline.md`: the same, to read\n": """\
- `timeline.md`: the same, to read, with a sentence for each
- `summary.md`: one page for people; like the timeline, it follows from the other files and proves nothing of its own
- `log/`: that the lines of `audit.jsonl` stand in the audit log of all runs, and by when, where an authority
  said so
""",
    "Unpack the archive into an empty folder, and there:\n": """\
Unpack the archive into an empty folder, lay the key beside that folder, and in it:
""",
    "-inkey KEY.pub.pem": "-inkey ../KEY.pub.pem",
    "2. The files. All must be OK, and there must be no file but these and the statement.\n": """\
2. The files. All must be OK, and the second command must print nothing: no file is missing, and none was added.
""",
    "sha256sum -c --strict\n": """\
sha256sum -c --strict
       (jq -r '.subject[].name' ../statement.json; echo statement.dsse.json) | LC_ALL=C sort > ../named
       find . ! -type d | sed 's|^\\./||' | LC_ALL=C sort | diff ../named -
""",
    """\
4. The records. Each `receipt.written` and each `decision.recorded` in `audit.jsonl` names a file and its SHA-256; each
   `vote.counted` is a vote in `approvals/`.
""": """\
4. The records. Each `receipt.written`, `read.recorded` and `decision.recorded` in `audit.jsonl` names a file and its
   SHA-256; each `vote.counted` and each `card.shown` the SHA-256 of a vote or a card in `approvals/`, in canonical
   JSON: `jq -cSj` prints it where there is plain text alone.
""",
    "       sha256sum receipts/*\n": """\
       sha256sum receipts/*
       jq -r 'select(.event == "read.recorded") | .data.digest + "  " + .data.read_id' audit.jsonl
       sha256sum reads/*
       jq -r 'select(.event == "vote.counted") | .data.digest' audit.jsonl
       for N in approvals/*; do jq -c '.votes[]' "$N"; done | while read -r V; do jq -cSj . <<< "$V" | sha256sum; done
""",
}
"""What the text says since format 2, in the place of what it said."""


def readme(run: RunRecord, key_id: str, version: int) -> bytes:
    """Return README.md of a bundle in this format."""
    text = _TEXT
    for before, since in _SINCE_2.items() if version > 1 else ():
        text = text.replace(before, since)
    shown = code if version > 1 else first_code
    facts = {
        "RUN": shown(run.run_id),
        "TENANT": shown(run.tenant),
        "KEY": key_id,
        "SEQ": str(run.sealed_seq),
        "HEAD": run.audit_head,
    }
    for name, fact in facts.items():
        text = text.replace(f"@{name}@", fact)
    return text.encode()
