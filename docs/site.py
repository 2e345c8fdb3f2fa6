"""Build the site from the same Markdown: pages of the repository's root join it, and links to
files that are no page become their names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
ROOT_PAGES = ("PRIVACY.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
SHIM, OWN_SHIM = "https://unpkg.com/iframe-worker/shim", "vendor/iframe-worker.js"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the repository's root."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Point links to where their pages lie in the site."""
    source = page.file.src_uri
    here = "" if source in ROOT_PAGES else f"docs/{source}"
    folder = os.path.dirname(here)

    def rewritten(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(os.path.join(folder, target))
        if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
            path = os.path.join(path)
        inside = path if path in ROOT_PAGES else path.removeprefix("docs/")
        known = path in ROOT_PAGES or path.startswith("docs/")
        if not known or files.get_file_from_path(inside) is None:
            return words
        return f"[{words}]({os.path.relpath(inside, os.path.dirname(source) or '.')}{anchor})"

    return LINK.sub(rewritten, markdown)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Take what the search needs in a folder without a server from here, not from a network."""
    to_root = os.path.relpath(".", os.path.dirname(page.url) or ".")
    return output.replace(SHIM, f"{to_root}/{OWN_SHIM}")


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is no such page."""
    return output_content.replace(SHIM, f"/{OWN_SHIM}")
