"""A schema with many faults has the first of them named, so a file full of them is read as fast as any other."""

from runtime.definitions.loading.schema_faults import MOST_FAULTS, definition_faults, object_faults

MORE = ((), f"more than {MOST_FAULTS} problems here: the first are named")


def _wrong(count: int) -> dict[str, int]:
    return {f"k{number:03}": 1 for number in range(count)}


def test_all_faults_of_a_schema_are_named_where_they_are_few() -> None:
    found = list(object_faults(_wrong(MOST_FAULTS), {}))
    assert [path for path, _ in found] == [(name,) for name in _wrong(MOST_FAULTS)]


def test_only_the_first_faults_of_a_schema_are_named_where_they_are_many() -> None:
    for count in (MOST_FAULTS + 1, 10 * MOST_FAULTS):
        found = list(object_faults(_wrong(count), {}))
        assert [path for path, _ in found] == [*((name,) for name in _wrong(MOST_FAULTS)), ()]
        assert found[-1] == MORE


def test_only_the_first_faults_of_many_definitions_are_named() -> None:
    found = list(definition_faults({name: {"requried": []} for name in _wrong(10 * MOST_FAULTS)}))
    assert (len(found), found[-1]) == (MOST_FAULTS + 1, MORE)
