"""The page's Markdown renderer, in the browser: what becomes an element, and what stays text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.slow

_RENDER = """async (text) => {
  const { render } = await import('/web/markdown.js');
  const place = document.createElement('div');
  place.append(...render(text, (n) => (n === 1 ? document.createElement('sup') : null)));
  return place.innerHTML;
}"""


@pytest.fixture(scope="module")
def cases() -> dict[str, str]:
    return {
        "one **bold** and `a*b`": "<p>one <strong>bold</strong> and <code>a*b</code></p>",
        "first [1]\nsecond [2]": "<p>first <sup></sup><br>second [2]</p>",
        "- a\n- b\n\n2. c": '<ul><li>a</li><li>b</li></ul><ol start="2"><li>c</li></ol>',
        "# Title\ntext": "<h3>Title</h3><p>text</p>",
        "> said\n\n```\n<b>\n```": "<blockquote><p>said</p></blockquote><pre><code>&lt;b&gt;</code></pre>",
        r"5 \* 3 \[1\]": "<p>5 * 3 [1]</p>",
        "<b onclick=x>": "<p>&lt;b onclick=x&gt;</p>",
        "[x](javascript:y) ![z](http://a/b.png)": "<p>[x](javascript:y) ![z](http://a/b.png)</p>",
        "a | b": "<p>a | b</p>",
        "2 ** 3 ** 4 and p < 0.05*": "<p>2 ** 3 ** 4 and p &lt; 0.05*</p>",
    }


def test_known_marks_become_elements_and_everything_else_stays_text(
    open_page: Callable[..., Page], cases: dict[str, str]
) -> None:
    page = open_page()
    assert {text: page.evaluate(_RENDER, text) for text in cases} == cases


def test_a_table_keeps_escaped_bars_in_their_cells_and_drops_no_row(open_page: Callable[..., Page]) -> None:
    html = open_page().evaluate(_RENDER, "rows: [1]\n\n| a | b |\n|---|---:|\n| x\\|y | 1 |\n| z |\n")
    assert html.startswith("<p>rows: <sup></sup></p>")
    assert '<th scope="col">a</th><th scope="col">b</th>' in html
    assert "<tr><td>x|y</td><td>1</td></tr><tr><td>z</td><td></td></tr>" in html
