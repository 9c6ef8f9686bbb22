"""A release is what it says, or is none."""

from pathlib import Path

import pytest

from tools.release import Installed, ReleaseError, check_changelog, play


def program(folder: Path, script: str) -> Installed:
    """Return a program that is a script."""
    (folder / "countersign").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "countersign").chmod(0o700)
    return Installed(folder / "python", folder)


def test_a_version_without_a_section_in_the_changelog_is_not_released() -> None:
    check_changelog("# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-26)\n", "0.2.0")
    with pytest.raises(ReleaseError, match=r"CHANGELOG\.md has no section for 0\.3\.0"):
        check_changelog("# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-26)\n", "0.3.0")


def test_a_wheel_of_another_version_is_not_released(tmp_path: Path) -> None:
    with pytest.raises(
        ReleaseError, match=r"the wheel says that it is 0\.1\.0, and pyproject\.toml that it is 0\.2\.0"
    ):
        play(program(tmp_path, "echo countersign 0.1.0"), "0.2.0")


def test_what_fails_in_the_empty_folder_is_told_with_what_it_printed(tmp_path: Path) -> None:
    script = '[ "$1" = demo ] && { echo "no OPA"; exit 3; }; echo 0.2.0'
    with pytest.raises(ReleaseError, match=r"countersign demo ended with 3:\nno OPA"):
        play(program(tmp_path, script), "0.2.0")


def test_a_demo_whose_bundle_is_not_what_was_verified_is_not_released(tmp_path: Path) -> None:
    script = 'echo 0.2.0; [ "$1" = demo ] && printf "sha256: abc\\nbundle: b.zip\\nkey: k.pem\\n"; true'
    with pytest.raises(ReleaseError, match="what was verified is not the bundle of the demo"):
        play(program(tmp_path, script), "0.2.0")
