"""Every command of the owner's story prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.owners_story import blocks, plain, retold


@pytest.mark.service
def test_the_page_is_what_the_commands_print(tmp_path: Path) -> None:
    told = blocks()
    for (language, written), now in zip(told, retold(tmp_path / "clinic"), strict=True):
        if language == "console":
            assert plain(now) == plain(written)
    shown = "\n".join(text for language, text in told if language == "console")
    for must in ("init", "check", "user", "serve", "report", "budget", "--adopt", "2026-07 "):
        assert must in shown
