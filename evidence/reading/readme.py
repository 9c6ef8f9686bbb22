"""The text that tells an auditor what a bundle is and how to check it without any program of ours."""

from evidence.reading.markdown import code
from evidence.records import RunRecord

_TEXT = """\
# Evidence about one run

This archive holds everything on record about the run @RUN@ of tenant @TENANT@, from its first moment to the one at
which it was sealed. It was signed with the key whose id is

    @KEY@

Trust it only if you have that key's PEM file from someone you trust, by another way than this archive. The key id is
the SHA-256 of the key: `openssl pkey -pubin -in KEY.pub.pem -outform DER | sha256sum`.

## What is in it

Begin with `summary.md`: one page that says who asked for what about whom, what people saw and said, and what was done.

- `run.json`: the run, its steps, its waits, and the head of its audit chain
- `definition.json`: what was executed; its SHA-256 is the definition's digest
- `decisions/`: every question that was put to policy, and the answer
- `policies/`: the exact text of the policies that answered; each folder is named after its digest
- `approvals/`: what people were asked, the cards as they saw them, and how they voted
- `receipts/`: what was attempted and what happened; secrets were taken out before anything was hashed, and where
  they stood is listed in `redacted`
- `reads/`: what was read, with what it used and cost; of the question and the answer, the size and a commitment
- `costs.json`: what the run used and cost, by provider and model, as the reads and the receipts tell
- `audit.jsonl`: every change of state, one to a line, each bound to the one before it
- `timeline.md`: the same, to read, with a sentence for each
- `summary.md`: one page for people; like the timeline, it follows from the other files and proves nothing of its own
- `log/`: that the lines of `audit.jsonl` stand in the audit log of all runs, and by when, where an authority
  said so
- `statement.dsse.json`: the SHA-256 of each file above, signed

## Check it with the program

    countersign evidence verify THIS.zip --key KEY.pub.pem

It needs no network, no database and no secret, and names the first thing that does not hold.

## Check it by hand

Unpack the archive into an empty folder, lay the key beside that folder, and in it:

1. The signature (DSSE: Ed25519 over the type and the exact bytes of the statement).

       jq -r .payload statement.dsse.json | base64 -d > ../statement.json
       jq -r '.signatures[0].sig' statement.dsse.json | base64 -d > ../signature
       printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < ../statement.json)" > ../signed
       cat ../statement.json >> ../signed
       openssl pkeyutl -verify -pubin -inkey ../KEY.pub.pem -rawin -in ../signed -sigfile ../signature

2. The files. All must be OK, and the second command must print nothing: no file is missing, and none was added.

       jq -r '.subject[] | .digest.sha256 + "  " + .name' ../statement.json | sha256sum -c --strict
       (jq -r '.subject[].name' ../statement.json; echo statement.dsse.json) | LC_ALL=C sort > ../named
       find . ! -type d | sed 's|^\\./||' | LC_ALL=C sort | diff ../named -

3. The audit chain. Line N's hash is the SHA-256 of a zero byte and the line without its `hash`; line N+1 repeats it as
   `prev_hash`. The first `prev_hash` is 64 zeros; the last hash is @HEAD@, line @SEQ@.

       N=1; (printf '\\0'; sed -n "${N}p" audit.jsonl | tr -d '\\n' \\
         | sed -E 's/"hash":"[0-9a-f]{64}",("prev_hash":"[0-9a-f]{64}","run_id":"[^"]*","seq":[0-9]+\\})$/\\1/') \\
         | sha256sum

4. The records. Each `receipt.written`, `read.recorded` and `decision.recorded` in `audit.jsonl` names a file and its
   SHA-256; each `vote.counted` and each `card.shown` the SHA-256 of a vote or a card in `approvals/`, in canonical
   JSON: `jq -cSj` prints it where there is plain text alone.

       jq -r 'select(.event == "receipt.written") | .data.digest + "  " + .data.receipt_id' audit.jsonl
       sha256sum receipts/*
       jq -r 'select(.event == "read.recorded") | .data.digest + "  " + .data.read_id' audit.jsonl
       sha256sum reads/*
       jq -r 'select(.event == "vote.counted") | .data.digest' audit.jsonl
       for N in approvals/*; do jq -c '.votes[]' "$N"; done | while read -r V; do jq -cSj . <<< "$V" | sha256sum; done

5. The authority. Each receipt that says `success` names a decision that says `allow` for the same digest; where a
   decision for it said `needs_approval`, the receipt names an approval with the votes that were asked for, none of
   them the requester's.
"""


def readme(run: RunRecord, key_id: str) -> bytes:
    """Return README.md."""
    facts = {
        "RUN": code(run.run_id),
        "TENANT": code(run.tenant),
        "KEY": key_id,
        "SEQ": str(run.sealed_seq),
        "HEAD": run.audit_head,
    }
    text = _TEXT
    for name, fact in facts.items():
        text = text.replace(f"@{name}@", fact)
    return text.encode()
