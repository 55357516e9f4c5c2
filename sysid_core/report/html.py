"""One self-contained HTML page per run: text, tables and pictures, nothing loaded from outside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from matplotlib.figure import Figure

_STYLE = """
:root { --ink:#1c2733; --soft:#5c6b7a; --line:#d9e0e7; --paper:#fff; --tint:#f5f7fa; --good:#1a7f4b; --bad:#b3261e; --accent:#1f5fa8 }
@media (prefers-color-scheme: dark) { :root { --ink:#e4e9ee; --soft:#9aa8b5; --line:#33404c; --paper:#161c22; --tint:#1e262e; --good:#58c48c; --bad:#ff8a80; --accent:#7ab3ef } }
* { box-sizing:border-box } body { margin:0 auto; max-width:1080px; padding:2.5rem 1.25rem 4rem; font:16px/1.55 system-ui,sans-serif; color:var(--ink); background:var(--paper) }
h1 { font-size:1.9rem; margin:0 0 .25rem } h2 { margin:2.4rem 0 .6rem; padding-bottom:.25rem; border-bottom:1px solid var(--line); font-size:1.3rem }
h3 { margin:1.5rem 0 .4rem; font-size:1.05rem } .soft { color:var(--soft) } .wide { overflow-x:auto }
table { border-collapse:collapse; font-size:.92rem; margin:.5rem 0 1rem; font-variant-numeric:tabular-nums } th { text-align:left; background:var(--tint) }
th,td { padding:.32rem .7rem; border-bottom:1px solid var(--line) } td.n { text-align:right } p.caption { color:var(--soft); font-size:.92rem; margin:1rem 0 0 }
figure { margin:1rem 0 1.6rem } figure img { max-width:100%; background:#fff; border-radius:6px } figcaption { color:var(--soft); font-size:.92rem }
.verdict { padding:.6rem .9rem; border-left:5px solid; background:var(--tint); margin:.7rem 0; font-weight:600 } .ok { border-color:var(--good) } .no { border-color:var(--bad) }
pre { background:var(--tint); padding:.8rem; overflow-x:auto; border-radius:6px; font-size:.86rem }
"""


def cell_text(value: object) -> str:
    """How a number or word is written in a table: four significant digits, no noise."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Report:
    """Collects sections and writes them as one HTML file.

    Args:
        title: Heading of the page.
        subtitle: One line below it.
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._parts: list[str] = []

    def heading(self, text: str, level: int = 2) -> None:
        """A section heading (level 2 or 3)."""
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        """Plain text; it is escaped."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def bullets(self, items: Iterable[str]) -> None:
        """A list of sentences; nothing when empty."""
        rows = "".join(f"<li>{html.escape(item)}</li>" for item in items)
        if rows:
            self._parts.append(f"<ul>{rows}</ul>")

    def preformatted(self, text: str) -> None:
        """Text in a fixed-width font."""
        self._parts.append(f"<pre>{html.escape(text)}</pre>")

    def verdict(self, ok: bool, text: str) -> None:
        """A line that says pass or fail."""
        mark, kind = ("✓", "ok") if ok else ("✗", "no")
        self._parts.append(f'<div class="verdict {kind}">{mark} {html.escape(text)}</div>')

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = ""
    ) -> None:
        """A table; numbers are right-aligned, with four significant digits. Blank columns: no head."""
        head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
        head = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{' class=n' if any(columns) and _is_number(x) else ''}>"
                f"{html.escape(cell_text(x))}</td>"
                for x in row
            )
            + "</tr>"
            for row in rows
        )
        title = f'<p class="caption">{html.escape(caption)}</p>' if caption else ""
        self._parts.append(
            f'{title}<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'
        )

    def figure(self, figure: Figure, caption: str = "") -> None:
        """A matplotlib figure, embedded as PNG."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=130, bbox_inches="tight", facecolor="white")
        data = base64.b64encode(buffer.getvalue()).decode()
        text = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page and return where it is."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        path.write_text(
            "<!doctype html><html lang=en><meta charset=utf-8>"
            '<meta name=viewport content="width=device-width,initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style>"
            f"<h1>{html.escape(self.title)}</h1>"
            f"<p class=soft>{html.escape(self.subtitle)} · written {when} by robot_sysid</p>"
            + "\n".join(self._parts)
            + "</html>\n",
            encoding="utf-8",
        )
        return path
