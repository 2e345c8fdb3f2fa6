"""Every address of the console, and what may be done there.

GET shows and never spends; only POST /ask asks, with a token of the form's own session and a key
that makes one press one question. SQL is in no address.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from probe_sql.answer import Answer, Denied
from probe_sql.catalogue import Catalogue
from probe_sql.completion import suggest
from probe_sql.errors import Interrupted, ProbeError
from probe_sql.loss import Loss
from probe_sql.markup import Html
from probe_sql.options import OPTIONS
from probe_sql.reopening import kept_names, reopen
from probe_sql.serve.console.answer_page import Shown, answer_page, denied_page, missing_page
from probe_sql.serve.console.ask_page import (
    ASK_BACK,
    ask_back_page,
    ask_page,
    failed_note,
    running_page,
)
from probe_sql.serve.console.asking import Asked, Question
from probe_sql.serve.console.entrance import Entrance, Page, fields, html, see, start_of
from probe_sql.serve.console.export import FORMS
from probe_sql.serve.console.frame import Frame
from probe_sql.serve.console.history_page import history_page
from probe_sql.serve.console.owner_desk import OwnerDesk
from probe_sql.serve.console.plan_panel import Planned, button_text, panel
from probe_sql.serve.console.visitors import Visitor
from probe_sql.serve.house import House
from probe_sql.session import BudgetState, Connection, Entry, Explanation, Outline
from probe_sql.sql.shown import without_comments

_PATIENCE = 1.2  # seconds that a press waits before a page says that the question runs
_LOOK = 20.0  # seconds that such a page waits to hear that it is through
_PLANNING = 5.0  # seconds for EXPLAIN as one types
_LONGEST_TYPED = 20_000  # characters that are planned as one types
_SUGGESTIONS = 60
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}


class Site:
    """The pages of one house. `token` stands for a sign-in where one person is at the machine."""

    def __init__(self, house: House, token: str | None, analyst: str) -> None:
        self.house = house
        self.asked = Asked(house)
        self.entrance = Entrance(house, token, analyst, self._resume, self.asked.forget)
        self._owner = OwnerDesk(house)
        self._typing: dict[str, asyncio.Task[Planned]] = {}
        self._files = _static_files()

    def routes(self) -> list[Route]:
        """All addresses. What is not GET must come from a form of the session."""
        door = self.entrance
        shown: list[tuple[str, Page]] = [
            ("/", self._ask_page),
            ("/asking/{token}", self._asking),
            ("/asking/{token}/state", self._state),
            ("/asking/{token}/answer.{form}", self._export_here),
            ("/answers", self._history),
            ("/answers/{name}.{form}", self._export),
            ("/answers/{name}", self._answer),
        ]
        sent: list[tuple[str, Page]] = [
            ("/plan", self._plan),
            ("/explain", self._explain),
            ("/complete", self._complete),
            ("/ask", self._ask),
            ("/asking/{token}/cancel", self._cancel),
            ("/leave", door.leave),
        ]
        for path, method, page in self._owner.routes():
            (shown if method == "GET" else sent).append((path, door.owned(page)))
        return [
            *(Route(path, door.page(page)) for path, page in shown),
            *(Route(path, door.form(page), methods=["POST"]) for path, page in sent),
            Route("/enter", door.enter, methods=["POST"]),
            Route("/enter/{token}", door.enter_by_token),
            Route("/static/{name}", self._static),
        ]

    async def close(self) -> None:
        """End all sessions and what they wait for."""
        await self.asked.close()
        await self.entrance.visitors.close()

    # --- asking ---

    async def _ask_page(self, request: Request, visitor: Visitor) -> Response:
        return html(await self._asking_page(request, visitor, None))

    async def _asking_page(
        self, request: Request, visitor: Visitor, planned: Planned | None, said: Html | None = None
    ) -> Html:
        session = visitor.guest.analyst.session
        recent = await visitor.guest.plan(lambda: _recent(session))
        frame = await self.entrance.frame(request, visitor)
        key = secrets.token_urlsafe(16)
        return ask_page(frame, self.house.policy, planned, key, recent, said)

    async def _resume(self, request: Request, visitor: Visitor, sql: str) -> Response:
        """The page with a query that was being written when the session ended."""
        planned = await self._planned(visitor, sql)
        return html(await self._asking_page(request, visitor, planned))

    async def _plan(self, request: Request, visitor: Visitor) -> Response:
        """Show a query with its plan; free. Options that are sent along are written into it."""
        sent = await fields(request)
        sql = sent.get("sql", "")
        with contextlib.suppress(ProbeError):
            sql = _with_options(sql, sent)
        planned = await self._planned(visitor, sql) if sql.strip() else None
        return html(await self._asking_page(request, visitor, planned))

    async def _planned(self, visitor: Visitor, sql: str) -> Planned:
        session = visitor.guest.analyst.session
        return await visitor.guest.plan(lambda: plan_of(session, sql))

    async def _explain(self, request: Request, visitor: Visitor) -> Response:
        """EXPLAIN as one types: free, not logged, one at a time for each user, and not for long.

        Where planning takes too long it goes on by itself, and nothing else of this user's is
        planned as they type until it is through.
        """
        sent = await fields(request)
        sql = sent.get("sql", "")
        frame = await self.entrance.frame(request, visitor)
        with contextlib.suppress(ProbeError):
            sql = _with_options(sql, sent)
        if not sql.strip():
            return JSONResponse({"plan": panel(frame, None), "sql": sql, "button": "Ask"})
        before = self._typing.get(visitor.name)
        if len(sql) > _LONGEST_TYPED or (before is not None and not before.done()):
            if before is not None and len(sql) <= _LONGEST_TYPED:
                await asyncio.wait([before], timeout=_PLANNING)
            if len(sql) > _LONGEST_TYPED or (before is not None and not before.done()):
                return JSONResponse({"slow": True, "sql": sql})
        task = asyncio.create_task(self._planned(visitor, sql))
        self._typing[visitor.name] = task
        done, _ = await asyncio.wait([task], timeout=_PLANNING)
        if not done:
            return JSONResponse({"slow": True, "sql": sql})
        planned = task.result()
        found = {
            "sql": sql,
            "plan": panel(frame, planned),
            "button": button_text(planned),
            "agreed": repr(planned.worst) if planned.explained is not None else "",
            "told": _told(planned),
            "problems": _problems(planned),
        }
        return JSONResponse(found)

    async def _complete(self, request: Request, visitor: Visitor) -> Response:
        """What could come next, from public facts; free."""
        sent = await fields(request)
        before = sent.get("before", "")[-4000:]
        session = visitor.guest.analyst.session
        found = await visitor.guest.plan(
            lambda: suggest(before, Catalogue.of(session.policy, session.key_values))
        )
        told = [
            {"text": one.text, "length": one.length, "kind": one.kind}
            for one in found[:_SUGGESTIONS]
        ]
        return JSONResponse(told)

    async def _ask(self, request: Request, visitor: Visitor) -> Response:
        """Ask, which spends: at most what the form says was agreed to, and once for each form."""
        sent = await fields(request)
        sql, key = sent.get("sql", ""), sent.get("key", "")
        if not sql.strip() or not key:
            return html(await self._asking_page(request, visitor, None))
        question = self.asked.again(visitor.name, key, sql)
        if question is None:
            planned = await self._planned(visitor, sql)
            if planned.explained is None or _only_explains(planned):
                return html(await self._asking_page(request, visitor, planned))
            if not _agreed(sent, planned):
                frame = await self.entrance.frame(request, visitor)
                return html(ask_back_page(frame, planned, key))
            # Between the look above and here something else may have begun to ask.
            question = self.asked.again(visitor.name, key, sql) or self.asked.ask(
                visitor, key, sql, planned.worst
            )
        await question.wait(_PATIENCE)
        return see(self._place(question))

    def _place(self, question: Question) -> str:
        """Where the answer of a question is, or will be."""
        if question.done and question.name is not None:
            return f"/answers/{question.name}"
        return f"/asking/{question.token}"

    async def _asking(self, request: Request, visitor: Visitor) -> Response:
        """A question that runs, or what came of it where it is kept nowhere else."""
        frame = await self.entrance.frame(request, visitor)
        token = request.path_params["token"]
        question = self.asked.find(visitor.name, token)
        if question is None:
            why = "It was given in a session that has ended. Answers that are kept are listed."
            return html(missing_page(frame, None, why), 404)
        if not question.done:
            return html(running_page(frame, question.token, question.price))
        if question.error is not None:
            return await self._failed(request, visitor, question)
        if question.name is not None:
            return see(f"/answers/{question.name}")
        assert question.answer is not None
        answer = question.answer
        shown = Shown(
            answer,
            question.sql,
            f"/asking/{token}/answer",
            None,
            answer.privacy.epsilon,
            answer.privacy.epsilon_max,
        )
        return html(_of_answer(frame, shown, request))

    async def _failed(self, request: Request, visitor: Visitor, question: Question) -> Response:
        """What was wrong above the query, which is still there. Its own words say what it cost."""
        error = question.error
        assert error is not None
        charged = isinstance(error, Interrupted) or error.span is None
        planned = await self._planned(visitor, question.sql)
        told = Planned(question.sql, None, error, planned.budget)
        frame = await self.entrance.frame(request, visitor)
        said = failed_note(frame, told, charged)
        return html(await self._asking_page(request, visitor, planned, said))

    async def _state(self, request: Request, visitor: Visitor) -> Response:
        """Whether a question is through: waits for it for a while."""
        question = self.asked.find(visitor.name, request.path_params["token"])
        if question is not None:
            await question.wait(_LOOK)
        return JSONResponse({"done": question is None or question.done})

    async def _cancel(self, request: Request, visitor: Visitor) -> Response:
        """Stop a question of one's own."""
        question = self.asked.find(visitor.name, request.path_params["token"])
        if question is None:
            return see("/answers")
        question.cancel()
        await question.wait(_PATIENCE)
        return see(f"/asking/{question.token}")

    # --- answers ---

    async def _history(self, request: Request, visitor: Visitor) -> Response:
        session = visitor.guest.analyst.session
        entries, names = await visitor.guest.plan(lambda: (session.ledger(), kept_names(session)))
        frame = await self.entrance.frame(request, visitor)
        return html(history_page(frame, entries, names, start_of(request)))

    async def _answer(self, request: Request, visitor: Visitor) -> Response:
        """An answer by its name: free, checked for who looks, and never asked."""
        frame = await self.entrance.frame(request, visitor)
        name = request.path_params["name"]
        shown, question, why = await self._opened(visitor, name)
        if shown is None:
            return html(missing_page(frame, question, why), 404)
        return html(_of_answer(frame, shown, request))

    async def _opened(
        self, visitor: Visitor, name: str, *, counted: bool = True
    ) -> tuple[Shown | None, str | None, str]:
        session = visitor.guest.analyst.session
        asked = self.asked.text(visitor.name, name)
        first = name in visitor.fresh
        if first and counted:
            visitor.fresh.remove(name)
        why = "It is not given any more, or was never given to you."
        try:
            found = await visitor.guest.plan(
                lambda: reopen(session, name, counted=counted and not first, asked=asked)
            )
        except ProbeError as error:
            found, why = None, str(error.what)
        if found is None:
            number = name.partition("-")[0]
            entries = await visitor.guest.plan(session.ledger)
            own = next((one.sql for one in entries if str(one.number) == number), None)
            return None, own, why
        entry = found.entry
        paid, most = (entry.charged, entry.reserved) if found.own else (None, None)
        # Privacy: comments of somebody else were not written for who looks.
        mine = found.own or found.sql == asked
        sql = found.sql if mine else without_comments(found.sql)
        shown = Shown(
            found.answer, sql, f"/answers/{name}", entry.time, paid, most, accuracy=found.accuracy
        )
        return shown, sql, ""

    async def _export(self, request: Request, visitor: Visitor) -> Response:
        """An answer as a file; looking at it in another form is not opening it again."""
        shown, _, why = await self._opened(visitor, request.path_params["name"], counted=False)
        if shown is None:
            return PlainTextResponse(why, 404)
        return _file(shown.answer, request.path_params["form"])

    async def _export_here(self, request: Request, visitor: Visitor) -> Response:
        question = self.asked.find(visitor.name, request.path_params["token"])
        if question is None or question.answer is None:
            return PlainTextResponse("this answer is not kept any more", 404)
        return _file(question.answer, request.path_params["form"])

    # --- files ---

    async def _static(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("not found", 404)
        content, kind = found
        return Response(content, media_type=kind)


def plan_of(session: Connection, sql: str) -> Planned:
    """Plan a query, in a thread. Privacy: nothing but public facts and the budget is read."""
    budget: BudgetState | None = None
    try:
        budget = session.budget
        found = session.explain(sql)
        dues = [
            one.dues.left
            for one in found.explanations
            if one.dues is not None and one.dues.left is not None
        ]
        left = Loss.asked(min([budget.remaining, *dues])).units
        return Planned(sql, found, None, replace(budget, remaining_units=left))
    except ProbeError as error:
        return Planned(sql, None, error, budget)


def _of_answer(frame: Frame, shown: Shown, request: Request) -> Html:
    """The page of an answer, or of a denial."""
    if isinstance(shown.answer, Denied):
        return denied_page(frame, shown, shown.answer)
    return answer_page(frame, shown, start_of(request))


def _recent(session: Connection) -> list[tuple[Entry, str]]:
    names = kept_names(session)
    saved = [entry for entry in session.saved() if entry.number in names]
    return [(entry, names[entry.number]) for entry in reversed(saved)]


def _only_explains(planned: Planned) -> bool:
    """Whether the text itself begins with EXPLAIN."""
    one = planned.explained
    if isinstance(one, Explanation):
        return one.plan.explain
    return isinstance(one, Outline) and one.program.script.explain


def _agreed(sent: Mapping[str, str], planned: Planned) -> bool:
    """Whether whoever pressed knew this price, and said yes twice where it is much."""
    if planned.worst == 0:
        return True
    try:
        agreed = float(sent.get("agreed", ""))
    except ValueError:
        return False
    left = 0.0 if planned.budget is None else planned.budget.remaining
    if not planned.worst <= agreed * (1 + 1e-12):
        return False
    much = planned.worst > ASK_BACK * left
    return not much or planned.worst > left or sent.get("sure") == "yes"


def _with_options(sql: str, sent: Mapping[str, str]) -> str:
    """The query with the accuracy options that were sent along."""
    from probe_sql.sql.amend import amended

    wanted: dict[str, float | str | bool] = {}
    for name in OPTIONS:
        text = sent.get(name)
        if text:
            try:
                wanted[name] = float(text)
            except ValueError:
                wanted[name] = text
    return amended(sql, wanted) if wanted else sql


def _told(planned: Planned) -> str:
    """What readers of the screen hear while one types."""
    if planned.error is not None:
        return "There is a problem with the query."
    return f"{button_text(planned)}."


def _problems(planned: Planned) -> list[dict[str, Any]]:
    """Where the editor underlines, and what it says there."""
    error = planned.error
    if error is None or error.span is None:
        return []
    parts = [error.what, *([error.why] if error.why else [])]
    parts += [f"Try: {error.fix}"] if error.fix else []
    return [{"start": error.span.start, "end": error.span.end, "message": "\n".join(parts)}]


def _file(answer: Answer, form: str) -> Response:
    if form not in FORMS:
        return PlainTextResponse("there is no such form", 404)
    _, kind, write = FORMS[form]
    disposition = f'attachment; filename="answer.{form}"'
    headers = {"Content-Disposition": disposition}
    return Response(write(answer).encode("utf-8", "replace"), media_type=kind, headers=headers)


def _static_files() -> dict[str, tuple[bytes, str]]:
    """The files that pages name: read once, and no other file can be had by any address."""
    folder = resources.files("probe_sql.serve.console").joinpath("static")
    found = {}
    for file in folder.iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name] = file.read_bytes(), kind
    return found
