"""What packs declare of their verbs: what a handler gives is held against it."""

from functools import cache
from pathlib import Path

from runtime.definitions.loading.yaml_source import read_source
from runtime.handlers import JsonObject


@cache
def sync_verbs(pack: str) -> dict[str, JsonObject]:
    """Return a pack's sync verbs by handler, each output schema with the definitions that it refers to."""
    declared = read_source(Path(f"packs/{pack}/verbs/{pack}.yaml"), pack).value
    verbs = {verb["execution"]["handler"]: verb for verb in declared["verbs"] if verb["execution"]["kind"] == "sync"}
    for verb in verbs.values():
        verb["output_schema"]["definitions"] = declared["definitions"]
    return verbs
