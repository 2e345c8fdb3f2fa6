"""The door: a name and a password, and what is said when they do not match."""

from __future__ import annotations

from probe_sql.markup import Child, Html, join, tag
from probe_sql.serve.console.frame import Frame, document, hidden, mark


def sign_in_page(
    frame: Frame,
    *,
    name: str = "",
    wrong: str | None = None,
    said: str | None = None,
    after: str = "/",
    kept: str | None = None,
) -> Html:
    """The page of the door. `after` is where one goes then; `kept` is a query that was being
    written, which comes back."""
    complaint = None
    if wrong is not None:
        complaint = tag("p", wrong, class_="note bad small", id="wrong", role="alert")
    sent = tag(
        "form",
        hidden("after", after),
        hidden("sql", kept) if kept else None,
        tag(
            "div",
            tag("label", "Name", for_="name"),
            tag(
                "input",
                id="name",
                name="name",
                autocomplete="username",
                autocapitalize="none",
                spellcheck="false",
                value=name,
                required=True,
                autofocus=not name,
            ),
        ),
        tag(
            "div",
            tag("label", "Password", for_="password"),
            tag(
                "input",
                id="password",
                name="password",
                type="password",
                required=True,
                autocomplete="current-password",
                autofocus=bool(name),
                aria_describedby="wrong" if wrong else None,
                aria_invalid="true" if wrong else None,
            ),
        ),
        complaint,
        tag("button", "Sign in", class_="button main"),
        class_="stack",
        method="post",
        action="/enter",
    )
    remark = tag("p", said, class_="note small", role="status") if said else None
    last = tag("p", "No name yet? Ask the owner of the data.", class_="small soft")
    return _door(frame, "Sign in", join(remark, sent, last))


def closed_page(frame: Frame, what: str, more: str, back: str | None = None) -> Html:
    """What somebody sees who came without a way in, or where nothing is; `back` is where to go."""
    way = tag("p", tag("a", "Back to the first page", href=back)) if back else None
    return _door(frame, what, join(tag("p", more), way))


def _door(frame: Frame, title: str, body: Child) -> Html:
    card = tag(
        "div",
        tag("p", mark(), frame.database, class_="mark"),
        tag("h1", title),
        body,
        class_="card stack",
    )
    return document(frame, title, tag("main", card, id="main"), kind="door")
