"""What owners may do in the console. Whether somebody is one is checked before, for every address.

Privacy: an owner sees what was asked and what it cost; no result, and no row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from probe_sql.errors import ProbeError
from probe_sql.markup import Child, tag
from probe_sql.owner import failing, spending_report
from probe_sql.serve.console.entrance import fields, start_of
from probe_sql.serve.console.frame import Frame, note, problem
from probe_sql.serve.console.owner_page import Overview, UserLine, owner_page, sure_page
from probe_sql.serve.console.visitors import Visitor
from probe_sql.serve.house import House
from probe_sql.serve.users import add_user, change_password, normal, read_users, remove_user
from probe_sql.text import csv_field

Handler = Callable[[Request, Visitor], Awaitable[Response]]


class OwnerDesk:
    """The pages and actions of owners of one house's data."""

    def __init__(self, house: House) -> None:
        self._house = house

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Addresses with their methods; GET changes nothing."""
        return [
            ("/owner", "GET", self._overview),
            ("/owner/ledger.csv", "GET", self._download),
            ("/owner/policy.toml", "GET", self._policy),
            ("/owner/unlock", "POST", self._unlock),
            ("/owner/users/set", "POST", self._set_user),
            ("/owner/users/remove", "POST", self._remove_user),
        ]

    async def _overview(self, request: Request, visitor: Visitor) -> Response:
        return await self._page(request, visitor)

    async def _page(self, request: Request, visitor: Visitor, said: Child = None) -> Response:
        house, opening = self._house, self._house.opening
        literals = request.query_params.get("literals") == "1"

        users = None
        if house.login:  # here and not in a thread: looking at the users may end sessions
            known = house.users
            users = [UserLine(name, name in known.owners) for name in sorted(known.verifiers)]

        def work() -> Overview:
            given = opening.source, opening.policy, opening.ledger
            return Overview(
                spending_report(*given, name=house.name, literals=literals),
                failing(*given),
                house.policy,
                Path(opening.policy).name,
                users,
                literals,
                start_of(request),
                said,
            )

        frame: Frame = request.state.frame
        seen = await visitor.guest.plan(work)
        return HTMLResponse(owner_page(frame, seen).encode("utf-8", "replace"))

    async def _download(self, request: Request, visitor: Visitor) -> Response:  # noqa: ARG002
        """The ledger as CSV, with the texts of queries as they were written."""
        entries = await visitor.guest.plan(self._house.record)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = ("number", "time", "analyst", "user", "charged", "reserved", "outcome", "replays",
                 "sql")  # fmt: skip
        writer.writerow(names)
        for entry in entries:
            writer.writerow([csv_field(getattr(entry, name)) for name in names])
        headers = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
        return Response(
            out.getvalue().encode("utf-8", "replace"), media_type="text/csv", headers=headers
        )

    async def _policy(self, request: Request, visitor: Visitor) -> Response:  # noqa: ARG002
        path = self._house.opening.policy
        text = await visitor.guest.plan(lambda: Path(path).read_bytes())
        headers = {"Content-Disposition": 'attachment; filename="policy.toml"'}
        return Response(text, media_type="text/plain", headers=headers)

    async def _unlock(self, request: Request, visitor: Visitor) -> Response:
        """Let somebody ask again whose scans had failed."""
        user = (await fields(request)).get("user", "")
        try:
            await visitor.act(lambda: self._house.unlock(user, visitor.name))
        except ProbeError as error:
            return await self._page(request, visitor, problem(error))
        said = note(tag("p", f"{user.rpartition(':')[2]} may ask again."), role="status")
        return await self._page(request, visitor, said)

    async def _set_user(self, request: Request, visitor: Visitor) -> Response:
        """Add a user, or give one another password, which ends their sessions."""
        sent = await fields(request)
        name, password, path = sent.get("name", ""), sent.get("password", ""), self._users_file()
        if path is None:
            return PlainTextResponse("nobody logs in here", 400)

        def work() -> str:
            if read_users(path).knows(name):
                change_password(path, name, password)
                return f"{normal(name)} has another password; their sessions end."
            kept = add_user(path, name, password, owner=sent.get("owner") == "yes")
            return f"{kept} may log in."

        try:
            told = await visitor.act(work)
        except ProbeError as error:
            return await self._page(request, visitor, problem(error))
        self._house.log("user set", by=visitor.name, user=name)
        return await self._page(request, visitor, note(tag("p", told), role="status"))

    async def _remove_user(self, request: Request, visitor: Visitor) -> Response:
        """Take a user away, once it was asked back."""
        sent = await fields(request)
        name, path = sent.get("name", ""), self._users_file()
        if path is None or normal(name) == visitor.name:
            return PlainTextResponse("nobody removes themselves here", 400)
        if sent.get("sure") != "yes":
            return HTMLResponse(sure_page(request.state.frame, name).encode("utf-8", "replace"))
        try:
            await visitor.act(lambda: remove_user(path, name))
        except ProbeError as error:
            return await self._page(request, visitor, problem(error))
        self._house.log("user removed", by=visitor.name, user=name)
        said = note(tag("p", f"{name} may not log in any more."), role="status")
        return await self._page(request, visitor, said)

    def _users_file(self) -> Path | None:
        return self._house.users_file if self._house.login else None
