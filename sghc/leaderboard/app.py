"""The leaderboard as a Gradio app: the table, a model's page, two models compared, how to submit. On loopback, or in a Space on the Hub.

This module puts things together; what the pages say is in the templates (`space_*.html.j2`), made from plain data by `view` and `opened`. Whatever
comes from outside reaches Gradio as HTML that Jinja has escaped.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sghc.errors import InputError
from sghc.leaderboard.opened import Opener
from sghc.leaderboard.published import Published, open_published
from sghc.leaderboard.report.page import render, stylesheet
from sghc.leaderboard.report.values import named, title_of
from sghc.leaderboard.view import ASKED, PAGE, RATES, Choice, group_of, options, select
from sghc.suite import folder

if TYPE_CHECKING:
    import gradio

TITLE = "SGHateCheck leaderboard"
PORT = 7860
ASIDE = 200  # of what was set aside that is listed
EVERY_LANGUAGE = "all languages"
# nothing is asked of anybody but this server; Gradio writes scripts and styles into its page, and compiles its components' templates
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'"
)
# a press on a header or on the pager goes to the server as the component's own event
ON_PRESS = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-sort], button[data-start]');
  if (button) trigger('ask', {sort: button.dataset.sort, down: !!button.dataset.down, start: button.dataset.start});
});"""
# a report is as high as what is open in it, so that there is one scroll bar
AS_HIGH = """
const fit = () => {
  const frame = element.querySelector('iframe.report');
  if (!frame) return;
  frame.addEventListener('load', () => {
    const body = frame.contentDocument.body, grow = () => { frame.style.height = Math.ceil(body.getBoundingClientRect().height) + 'px'; };
    new ResizeObserver(grow).observe(body);
  });
};
watch('value', fit);"""


def board_html(published: Published, choice: Choice) -> str:
    return html("board", board=published.board, view=select(published, choice), PAGE=PAGE, ASIDE=ASIDE)


def model_html(published: Published, id: str) -> str:
    """What the ranking says of a row. InputError where it has none of this id."""
    rows = {row["id"]: row for part in ("rows", "partial", "baselines") for row in published.board[part]}
    if id not in rows:
        raise InputError("the leaderboard has no such row" if id else "no row was picked: open one from the leaderboard")
    models = {one: row["model"] for one, row in rows.items()}
    return html(
        "model", board=published.board, row=rows[id], rates=RATES, models=models, named=lambda value, limits: named(value, limits, {}, "", "")
    )


def report_html(published: Published, opener: Opener, *ids: str) -> str:
    """The report of one submission, or of two compared. InputError where one is none, or cannot be opened."""
    known = published.submissions
    if any(id not in known for id in ids):
        raise InputError("the leaderboard has no such submission")
    title = "Report of " + " and ".join(known[id]["model"] for id in ids)
    return html("document", title=title, document=opener.page(*ids))


def html(name: str, **content) -> str:
    return render(f"space_{name}.html.j2", **content).decode()


def told(make, *arguments) -> str:
    """What `make` gives; where the input is at fault, why."""
    try:
        return make(*arguments)
    except InputError as error:
        return html("note", text=str(error))


# --- Gradio ---


def build(published: Published, opener: Opener) -> "gradio.Blocks":
    """The app, not yet running."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before the import: nothing is told to its makers
    import gradio as gr

    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as app:
        gr.Navbar(main_page_name="Leaderboard")
        board_page(gr, published)
    with app.route("Model", "model"):
        gr.Navbar(main_page_name="Leaderboard")
        model_page(gr, app, published, opener)
    with app.route("Compare", "compare"):
        gr.Navbar(main_page_name="Leaderboard")
        compare_page(gr, app, published, opener)
    with app.route("Submit", "submit"):
        gr.Navbar(main_page_name="Leaderboard")
        repo = published.board["source"] if "/" in published.board["source"] else "ORG/sghatecheck-leaderboard"
        gr.HTML(html("submit", repo=repo, suite=published.board["suite"]["name"]))
    return app.queue(api_open=False, max_size=100)


def board_page(gr, published: Published) -> None:
    languages = [(EVERY_LANGUAGE, ""), *((title_of(name), name) for name in published.board["suite"]["languages"])]
    gr.HTML(f'<div class="sghc"><h1>{TITLE}</h1><p>Functional tests show where a hate-speech detector is blind. Open a model to see where.</p></div>')
    with gr.Row():
        language = gr.Dropdown(languages, value="", label="Language")
        cases = gr.Dropdown(options(published), value="", label="Cases")
        asked = gr.Dropdown([(title, name) for name, title in ASKED.items()], value="any", label="Asked how")
        search = gr.Textbox(label="Model", placeholder="part of a name", max_lines=1, max_length=200)
    choice = gr.State(Choice())
    table = gr.HTML(board_html(published, Choice()), js_on_load=ON_PRESS, apply_default_css=False)

    def filtered(language, cases, asked, search, before):
        now = before._replace(language=language or None, **group_of(cases), asked=asked, search=search or "", start=0)
        return board_html(published, now), now

    def pressed(before, event: gr.EventData):
        now = stepped(before, event._data or {})
        return board_html(published, now), now

    quiet = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": None}
    picked = [language, cases, asked, search]
    gr.on([one.change for one in picked], filtered, [*picked, choice], [table, choice], trigger_mode="always_last", **quiet)
    table.ask(pressed, [choice], [table, choice], trigger_mode="multiple", **quiet)


def stepped(before: Choice, event: dict) -> Choice:
    """A choice after a press on a header or on the pager; the event comes from a browser, and may hold anything."""
    if isinstance(event.get("sort"), str):
        return before._replace(sort=event["sort"], down=event.get("down") is True, start=0)
    start = str(event.get("start"))
    return before._replace(start=int(start)) if start.isdecimal() and len(start) < 9 else before


def model_page(gr, app, published: Published, opener: Opener) -> None:
    facts = gr.HTML(apply_default_css=False)
    report = gr.HTML(apply_default_css=False, js_on_load=AS_HIGH, min_height=120)

    def opened(request: gr.Request):
        return told(model_html, published, request.query_params.get("id", ""))

    def computed(request: gr.Request):
        id = request.query_params.get("id", "")
        return told(report_html, published, opener, id) if id in published.submissions else ""

    app.load(opened, None, facts, show_progress="hidden", api_visibility="private", concurrency_limit=None)
    app.load(computed, None, report, api_visibility="private", concurrency_id="open", concurrency_limit=2)


def compare_page(gr, app, published: Published, opener: Opener) -> None:
    known = [(f"{row['model']} ({id[-12:]})", id) for id, row in published.submissions.items()]
    gr.HTML('<div class="sghc"><h1>Compare two</h1><p>What B is better at than A, what it is worse at, and what cannot be told.</p></div>')
    with gr.Row():
        a = gr.Dropdown([("", ""), *known], value="", label="A")
        b = gr.Dropdown([("", ""), *known], value="", label="B")
    button = gr.Button("Compare", variant="primary")
    report = gr.HTML(apply_default_css=False, js_on_load=AS_HIGH, min_height=120)

    def asked(request: gr.Request):
        return [id if (id := request.query_params.get(name, "")) in published.submissions else "" for name in "ab"]

    def compared(a, b):
        if not a or not b:
            return ""
        return html("note", text="A and B are the same submission") if a == b else told(report_html, published, opener, a, b)

    def pressed(a, b):
        return compared(a, b) or html("note", text="pick A and B first")

    one = {"api_visibility": "private", "concurrency_id": "open", "concurrency_limit": 2}
    app.load(asked, None, [a, b], show_progress="hidden", api_visibility="private").then(compared, [a, b], report, **one)
    button.click(pressed, [a, b], report, **one)


def theme(gr):
    """Gradio's plainest theme in the report's colours and the system's own fonts, so that none is fetched."""
    fonts = {"font": ["system-ui", "Segoe UI", "Noto Sans", "sans-serif"], "font_mono": ["ui-monospace", "DejaVu Sans Mono", "monospace"]}
    colours = {  # light, dark
        "body_background_fill": ("#ffffff", "#14171b"),
        "body_text_color": ("#16191d", "#f4f6f8"),
        **dict.fromkeys(("body_text_color_subdued", "block_title_text_color", "input_placeholder_color"), ("#565e68", "#aab2bc")),
        "link_text_color": ("#0a58a6", "#86bdff"),
    }
    both = {f"{name}{end}": colour for name, pair in colours.items() for end, colour in zip(("", "_dark"), pair, strict=True)}
    return gr.themes.Base(primary_hue="blue", **fonts).set(**both)


class Policy:
    """Sends POLICY with every answer: an ASGI middleware."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def with_policy(message):
            if message["type"] == "http.response.start":
                fields = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "x-content-type-options": "nosniff"}
                message["headers"] = [*message.get("headers", ()), *((name.encode(), value.encode()) for name, value in fields.items())]
            await send(message)

        await self.app(scope, receive, with_policy)


def serve(published: Published, suite: Path, host: str | None = "127.0.0.1", port: int | None = None, **options) -> None:
    """Runs the app until it is interrupted.

    Args:
        host: None takes Gradio's own, as a Space sets it.
        port: None takes the first free one from PORT.

    Raises:
        InputError: no suite is there, or the port is taken.
    """
    folder.describe(suite)
    app = build(published, Opener(published.folder, published.within, suite.resolve()))
    import gradio as gr
    from starlette.middleware import Middleware

    hidden = {"docs_url": None, "redoc_url": None, "openapi_url": None, "middleware": [Middleware(Policy)]}
    try:
        app.launch(
            server_name=host,
            server_port=port,
            share=False,
            inbrowser=False,
            quiet=True,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            enable_monitoring=False,
            run_history=False,
            footer_links=[],
            allowed_paths=[],
            max_file_size=1,
            prevent_thread_lock=True,
            theme=theme(gr),
            head=f"<style>{stylesheet('space.css')}</style>",
            app_kwargs=hidden,
            **options,
        )
    except OSError as error:
        raise InputError(f"port {port}: {error}") from None
    print(f"{TITLE} of {published.board['source']}: {app.local_url} (Ctrl-C ends it)", flush=True)
    app.block_thread()


def main() -> None:
    """A Space's entry: SGHATECHECK_LEADERBOARD names the dataset repository, SGHATECHECK_SUITE the suite's folder, which is built where it is not."""
    suite = Path(os.environ.get("SGHATECHECK_SUITE", "sghatecheck"))
    published = open_published(os.environ.get("SGHATECHECK_LEADERBOARD", "leaderboard"))
    if not suite.exists():
        from sghc.suite.sources import card_of, download, open_suite

        which = published.board["suite"]["name"]
        built = open_suite(which, None, download)
        folder.write(built, card_of(built, which), suite)
    serve(published, suite, host=None)


if __name__ == "__main__":
    main()
