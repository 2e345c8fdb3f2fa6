"""Coming in and going out: what a request carries, cookies, forms, the door for everybody else."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from probe_sql.errors import ProbeError
from probe_sql.markup import Child, Html, join, tag
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.console.frame import Frame, document, hidden, mark
from probe_sql.serve.console.guard import Address
from probe_sql.serve.console.visitors import Ended, Visitor, Visitors
from probe_sql.serve.house import House
from probe_sql.serve.users import normal

Page = Callable[[Request, Visitor], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]
Resume = Callable[[Request, Visitor, str], Awaitable[Response]]
_REFUSED = {
    404: ("Nothing is here", "No page of this server has this address."),
    405: ("This cannot be done", "This address is looked at, or sent to, in another way."),
}
_FOR_SCRIPTS = ("/explain", "/complete", "/state")  # ends of addresses that no person looks at


class Entrance:
    """Lets people into the pages of a house: with a name and a password, or, where one person is at
    the machine, once with a token. `resume` shows a query that was being written."""

    def __init__(
        self,
        house: House,
        token: str | None,
        analyst: str,
        resume: Resume,
        forget: Callable[[str], None],
    ) -> None:
        self.house = house
        self.visitors = Visitors(house, forget)
        self.closing = False
        self.address: Address | None = None
        self._token = token
        self._alone = token is not None
        self._analyst = analyst
        self._resume = resume

    def page(self, page: Page) -> Handler:
        """A page for whoever has signed in; everybody else gets the door."""

        async def handler(request: Request) -> Response:
            visitor = self._visitor(request)
            if visitor is None or self.closing:
                return self._door(request)
            with visitor.guest.busy():
                try:
                    return await page(request, visitor)
                except ProbeError as error:
                    return self._failed(request, error)

        return handler

    def form(self, page: Page) -> Handler:
        """A page for what forms and scripts send: it must be from a page of this session.

        Privacy: who sends is looked up once everything has come. A body can be on its way for a
        minute, and a session that ended meanwhile must not act by it.
        """

        async def handler(request: Request) -> Response:
            sent = await fields(request)
            visitor = self._visitor(request)
            if visitor is None or self.closing:
                return self._door(request, kept=sent.get("sql"))
            with visitor.guest.busy():
                if not visitor.proves(sent.get("csrf", "")):
                    text = "this form is not of your session; reload the page"
                    return PlainTextResponse(text, 403)
                try:
                    return await page(request, visitor)
                except Ended:
                    return self._door(request)
                except ProbeError as error:
                    return self._failed(request, error)

        return handler

    def owned(self, page: Page) -> Page:
        """A page for owners alone, whatever links there are to it."""

        async def handler(request: Request, visitor: Visitor) -> Response:
            if not self._is_owner(visitor):
                self.house.log("no owner", user=visitor.name, door="console")
                return self._not_owner(request)
            request.state.frame = await self.frame(request, visitor)
            # That was awaited: the session may have ended, or its user be no owner any more.
            if self.visitors.find(request.cookies.get(self._cookie(request))) is not visitor:
                return self._door(request)
            if not self._is_owner(visitor):
                return self._not_owner(request)
            return await page(request, visitor)

        return handler

    def _visitor(self, request: Request) -> Visitor | None:
        """Whose session a request is of; its connection counts as theirs while there is one."""
        self.visitors.drop_ended()
        visitor = self.visitors.find(request.cookies.get(self._cookie(request)))
        request.state.visit.user = None
        if visitor is not None:
            try:
                self.house.recognise(request.state.visit, visitor.name)
            except Complaint as error:
                raise HTTPException(503, error.what, {"Connection": "close"}) from None
        return visitor

    def _is_owner(self, visitor: Visitor) -> bool:
        return visitor.owner if self._alone else self.house.is_owner(visitor.name)

    def _cookie(self, request: Request) -> str:
        """The name of the cookie: cookies know no ports, so that it has the port in it."""
        assert self.address is not None
        prefix = "__Host-" if self._secure(request) else ""
        return f"{prefix}probe-sql-{self.address.port}"

    def _secure(self, request: Request) -> bool:
        """Whether the browser came by TLS: ours, or that of a proxy in front of a named server."""
        assert self.address is not None
        return self.address.encrypted or not self.address.is_local(request.headers["host"])

    def _door(self, request: Request, kept: str | None = None) -> Response:
        if request.url.path.endswith(_FOR_SCRIPTS):
            return JSONResponse({"gone": True}, 401)
        frame = Frame(self.house.name, request.state.nonce)
        if self.closing:
            return html(closed_page(frame, "Closing", "The server is shutting down."), 503)
        if self._alone:
            text = "Open the link that the terminal shows. It works once."
            return html(closed_page(frame, "Come in by the link", text), 401)
        said = None
        if request.cookies.get(self._cookie(request)):
            said = "You were signed out meanwhile. Nothing was charged."
            said += " Your question is kept." if kept else ""
        after = request.url.path if request.method == "GET" else "/"
        return html(sign_in_page(frame, said=said, after=after, kept=kept), 401)

    def _not_owner(self, request: Request) -> Response:
        frame = Frame(self.house.name, request.state.nonce)
        text = "Who spent what, the ledger and the users are shown to owners alone."
        return html(closed_page(frame, "This page is for the owner of the data", text, "/"), 403)

    async def refused(self, request: Request, error: Exception) -> Response:
        """What the address, the form or the connection was refused for, as a page."""
        assert isinstance(error, HTTPException)
        title, text = _REFUSED.get(error.status_code, ("This cannot be done", f"{error.detail}."))
        frame = Frame(self.house.name, request.state.nonce)
        page = closed_page(frame, title, text, "/")
        return HTMLResponse(page.encode(), error.status_code, error.headers)

    def _failed(self, request: Request, error: ProbeError) -> Response:
        """What a page could not be made for, in the words of the error."""
        self.house.log("error", door="console", kind=type(error).__name__)
        frame = Frame(self.house.name, request.state.nonce)
        text = ". ".join(filter(None, (error.what, error.why, error.fix)))
        return html(closed_page(frame, "This page cannot be shown", text), 500)

    async def enter(self, request: Request) -> Response:
        """Sign in with a name and a password of the server's users."""
        sent = await fields(request)
        if self._alone or self.closing:
            return self._door(request)
        name, after = sent.get("name", ""), _inside(sent.get("after", "/"))
        frame = Frame(self.house.name, request.state.nonce)
        address = request.client.host if request.client is not None else "?"
        try:
            password, visit = sent.get("password", ""), request.state.visit
            verifier = await self.house.prove(name, address, password, lambda: visit.open)
            user = normal(name)
            owner = self.house.is_owner(user)
            secret = self.visitors.enter(user, verifier, owner=owner)
            self.house.log("session", user=user, address=address, door="console")
        except ProbeError as error:
            text = "Name and password do not match."
            if not (isinstance(error, Complaint) and error.code == "28P01"):
                text = str(error.what)
            return html(
                sign_in_page(frame, name=name, wrong=text, after=after, kept=sent.get("sql")), 403
            )
        self.visitors.leave(request.cookies.get(self._cookie(request)))  # a session of before
        visitor = self.visitors.find(secret)
        if sent.get("sql") and visitor is not None:
            response = await self._resume(request, visitor, sent["sql"])
        else:
            response = see(after)
        return self._with_cookie(request, response, secret)

    async def enter_by_token(self, request: Request) -> Response:
        """Come in by the link that the terminal showed, once."""
        given = request.path_params["token"]
        # What only looks ahead, as mail programs and browsers do, must not use the link up.
        ahead = request.method != "GET" or "sec-purpose" in request.headers
        if not self._token or self.closing or ahead:
            return self._door(request)
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            await asyncio.sleep(0.25)
            return self._door(request)
        self._token = ""
        secret = self.visitors.enter(self._analyst, None, owner=self.house.owns_ledger)
        return self._with_cookie(request, see("/"), secret)

    def _with_cookie(self, request: Request, response: Response, secret: str) -> Response:
        response.set_cookie(
            self._cookie(request),
            secret,
            path="/",
            httponly=True,
            samesite="lax",
            secure=self._secure(request),
        )
        return response

    async def leave(self, request: Request, visitor: Visitor) -> Response:  # noqa: ARG002
        """Sign out."""
        self.visitors.leave(request.cookies.get(self._cookie(request)))
        response = see("/")
        response.delete_cookie(
            self._cookie(request),
            path="/",
            httponly=True,
            samesite="lax",
            secure=self._secure(request),
        )
        return response

    async def frame(self, request: Request, visitor: Visitor) -> Frame:
        session = visitor.guest.analyst.session
        budget = await visitor.guest.plan(lambda: session.budget)
        return Frame(
            self.house.name,
            request.state.nonce,
            visitor.name,
            visitor.csrf,
            self._is_owner(visitor),
            self._alone,
            budget,
        )


def see(path: str) -> Response:
    """Send the browser to another address."""
    return Response(status_code=303, headers={"Location": path})


def html(content: Html, status: int = 200) -> Response:
    """A page as a response."""
    return HTMLResponse(content.encode("utf-8", "replace"), status)


def _inside(path: str) -> str:
    """An address of this site; anything else is its first page."""
    simple = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if simple and path.isascii() and path.isprintable() else "/"


_MOST_FIELDS = 40


async def fields(request: Request) -> dict[str, str]:
    """What a form or a script sent, as texts. The token of a script is in a header."""
    known = getattr(request.state, "fields", None)
    if isinstance(known, dict):
        return known
    body = (await request.body()).decode("utf-8", "replace")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    found: dict[str, str] = {}
    if kind == "application/json":
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            found = {str(name): str(value) for name, value in json.loads(body).items()}
        found["csrf"] = request.headers.get("x-csrf", "")
    elif kind == "application/x-www-form-urlencoded":
        with contextlib.suppress(ValueError):
            found = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    # Browsers send line breaks of a field as two characters; half a character is none.
    found = {_whole(name): _whole(text.replace("\r\n", "\n")) for name, text in found.items()}
    request.state.fields = found
    return found


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def start_of(request: Request) -> int:
    """The first line of a page of a long list."""
    text = request.query_params.get("from", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


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
