"""Runs the Python blocks of the book: those of a page in order, in one namespace. Compares their output with the page.

A block `python` is run with Gradus, `python torch` and `python jax` with those packages where they are installed, each in a
namespace of its own. A block `output` directly after one is its output, in which `…` stands for anything within a line. A comment
`<!-- python … -->` is run, but not shown. `python norun` is only compiled: it needs files that the tests do not have.
`GRADUS_BLESS=1` writes the outputs that differ into the pages.
"""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from oracle import peer_or_skip

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$|^<!-- python\n(?P<hidden>.*?)^-->$", re.M | re.S)
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if "```python" in page.read_text("utf-8"))
PAGES.append("../README.md")
OTHERS = ["torch", "jax"]


def blocks(text):
    """Returns language, words, text and the span of the text of every block of a page."""
    found = []
    for match in FENCE.finditer(text):
        if match["hidden"] is not None:
            found.append(("python", ["hidden"], match["hidden"], match.span("hidden")))
        else:
            words = re.split(r"[ ,]+", match["info"].strip()) or [""]
            found.append((words[0], words[1:], match["text"], match.span("text")))
    return found


def agrees(shown, found):
    """Returns true if a text equals the text on a page, in which `…` matches anything within a line."""
    shown, found = ([line.rstrip() for line in text.rstrip().split("\n")] for text in (shown, found))
    pattern = [".*".join(map(re.escape, line.split("…"))) for line in shown]
    return len(shown) == len(found) and all(re.fullmatch(p, line) for p, line in zip(pattern, found))


def run(page, which, monkeypatch, tmp_path):
    """Runs the blocks of a page for one package; returns the number of blocks run, and spans of outputs that differ, with the output."""
    text = (DOCS / page).read_text("utf-8")
    all_blocks = blocks(text)
    names = {"__name__": "guide"}
    monkeypatch.chdir(tmp_path)
    if not (tmp_path / "examples").exists():
        (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran, changes = 0, []
    for i, (language, words, code, span) in enumerate(all_blocks):
        if language != "python" or ([w for w in words if w in OTHERS] or ["gradus"]) != [which]:
            continue
        # Empty lines in front give errors the line numbers of the page.
        program = compile("\n" * text[: span[0]].count("\n") + code, f"docs/{page}", "exec")
        if "norun" in words:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(program, names)
        ran += 1
        following = all_blocks[i + 1] if i + 1 < len(all_blocks) else ("", [], "", None)
        if following[0] == "output":
            if not agrees(following[2], out.getvalue()):
                changes.append((following[3], following[2], out.getvalue()))
        else:
            assert not out.getvalue(), f"docs/{page}: a block prints, and no output is shown:\n{code}\n{out.getvalue()}"
    return text, ran, changes


@pytest.mark.parametrize("page", PAGES)
def test_page(page, monkeypatch, tmp_path):
    import gradus

    state = gradus.get_default_dtype()
    try:
        text, ran, changes = run(page, "gradus", monkeypatch, tmp_path)
    finally:
        gradus.set_default_dtype(state)
    if os.environ.get("GRADUS_BLESS"):
        for (start, end), _, found in reversed(changes):
            text = text[:start] + found.rstrip() + "\n" + text[end:]
        (DOCS / page).write_text(text, "utf-8")
        return
    for _, shown, found in changes:
        assert found == shown, f"docs/{page}"
    assert ran or "```python norun" in text or any(f"```python {other}" in text for other in OTHERS)


@pytest.mark.parametrize("other", OTHERS)
def test_the_other_spelling(other, monkeypatch, tmp_path):
    """Blocks of other packages print the output on the page, which is that of this package."""
    pages = [page for page in PAGES if f"```python {other}" in (DOCS / page).read_text("utf-8")]
    assert pages
    peer_or_skip(other)
    for page in pages:
        _, ran, changes = run(page, other, monkeypatch, tmp_path)
        assert ran
        for _, shown, found in changes:
            assert found == shown, f"docs/{page} with {other}"


def test_dots_stand_for_anything():
    assert agrees("a … b\n", "a 1 b\n") and not agrees("a … b", "a 1 c") and not agrees("a", "a\nb")
    assert [b[:3] for b in blocks("<!-- python\nx = 1\n-->\n```python torch\ny\n```\n")] == [
        ("python", ["hidden"], "x = 1\n"), ("python", ["torch"], "y\n")]
