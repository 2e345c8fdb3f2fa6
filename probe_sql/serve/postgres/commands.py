"""The statements of a session itself: transactions, settings, cursors. All but FETCH are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe_sql.errors import SqlError
from probe_sql.policy import dump_policy
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.postgres import statements as sql
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.desk import Command, Desk
from probe_sql.serve.postgres.messages import Field
from probe_sql.serve.postgres.portals import Portal, Prepared, Result
from probe_sql.serve.postgres.statements import Statement


async def begin(desk: Desk, _: Statement, __: Sequence[Any]) -> Result:
    """Open a transaction."""
    already = desk.state != "I"
    if not already:
        desk.state, desk.asked, desk.before = "T", False, desk.settings.copy()
    return Result("BEGIN", notices=("there is a transaction already",) if already else ())


async def commit(desk: Desk, _: Statement, __: Sequence[Any]) -> Result:
    """End a transaction; one that failed is rolled back."""
    failed, desk.state = desk.state == "E", "I"
    for name, value in desk.local.items():
        desk.settings.set(name, value)
    desk.end_transaction()
    return Result("ROLLBACK" if failed else "COMMIT")


async def rollback(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """End a transaction as if it had not been, but for what it cost."""
    words = [token.upper for token in given.tokens]
    notices = ("ROLLBACK refunds nothing: what was asked stays charged",) if desk.asked else ()
    if "TO" in words:
        desk.state = "T" if desk.state == "E" else desk.state
        return Result("ROLLBACK", notices=notices)
    if desk.state != "I":
        desk.settings.restore(desk.before)
    desk.state = "I"
    desk.end_transaction()
    return Result("ROLLBACK", notices=notices)


async def savepoint(_: Desk, given: Statement, __: Sequence[Any]) -> Result:
    """Name a point of a transaction; nothing could be undone, so the name is enough."""
    return Result(given.verb)


async def set_setting(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Set a setting; the accuracy of answers among them."""
    setting = sql.read_set(given)
    if setting is not None:
        if setting.local and desk.state == "T":
            desk.local.setdefault(setting.name, desk.settings.show(setting.name))
        desk.settings.set(setting.name, setting.value)
    return Result("SET")


async def reset(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Give a setting back its default."""
    name = sql.dotted(given.tokens[1:])[0]
    if name == "all":
        desk.settings.reset()
    else:
        desk.settings.set(name, None)
    return Result("RESET")


async def show(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Show a setting, what remains, the policy, or the last answer; free."""
    if [token.upper for token in given.tokens[1:]] == ["ALL"]:
        columns = (Field("name", types.TEXT), Field("setting", types.TEXT))
        return Result("SHOW", columns, tuple(desk.settings.everything().items()))
    words = [token.upper for token in given.tokens[1:]]
    known = {
        ("TIME", "ZONE"): "timezone",
        ("TRANSACTION", "ISOLATION", "LEVEL"): "transaction_isolation",
    }
    name = known.get(tuple(words)) or sql.dotted(given.tokens[1:])[0]
    if name == "probe.remaining":
        left = await desk.guest.plan(lambda: desk.analyst.session.budget.remaining)
        return Result.of_texts("SHOW", name, [f"{left:.12g}"])
    if name == "probe.policy":
        policy, user = desk.analyst.session.policy, desk.guest.user
        text = await desk.guest.plan(lambda: dump_policy(policy.told(user)))
        return Result.of_texts("SHOW", name, [text])
    if name == "probe.answer":
        return Result.of_texts("SHOW", name, [await desk.guest.plan(desk.analyst.last_answer)])
    return Result.of_texts("SHOW", name, [desk.settings.show(name)])


async def discard(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Forget what the session keeps."""
    what = given.tokens[1].upper if len(given.tokens) > 1 else ""
    if what == "ALL":
        if desk.state != "I":
            raise Complaint("25001", "DISCARD ALL cannot run inside a transaction")
        desk.settings.reset()
        desk.prepared.clear()
        desk.portals.clear()
    return Result(f"DISCARD {what}".strip())


async def deallocate(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Forget prepared statements."""
    rest = [token for token in given.tokens[1:] if token.upper != "PREPARE"]
    if rest and rest[0].upper == "ALL":
        desk.prepared.clear()
        return Result("DEALLOCATE ALL")
    if rest:
        desk.prepared.pop(rest[0].value, None)
    return Result("DEALLOCATE")


async def declare(desk: Desk, given: Statement, values: Sequence[Any]) -> Result:
    """Keep a query under a name; it is charged when it is first fetched from."""
    declared = await desk.reading(given.text, lambda: sql.read_declare(given))
    if desk.state == "I" and not declared.hold:
        raise Complaint("25P01", "a cursor lives in a transaction", fix="BEGIN, then DECLARE")
    if declared.name in desk.portals:
        raise Complaint("42P03", f"there is a cursor {declared.name} already")
    query = declared.query
    if not (desk.asks(query) or query.about_catalogue) or query.verb == "EXPLAIN":
        raise SqlError("a cursor is for a query", fix="DECLARE c CURSOR FOR SELECT ...")
    size = len(query.text)
    desk.room(desk.portals, declared.name, size)
    prepared = Prepared(query.text, query.offset)
    portal = Portal(prepared, tuple(values), size=size, hold=declared.hold)
    if declared.hold:  # it must have its rows before the transaction ends
        portal.result = await desk.run(query, values)
    else:
        await desk.fields(query, values)
    desk.portals[declared.name] = portal
    return Result("DECLARE CURSOR", notices=portal.result.notices if portal.result else ())


async def fetch(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """The next rows of a cursor; none are asked for, and none charged, with FETCH 0."""
    wanted = sql.read_fetch(given)
    await desk.cursor(wanted.name)
    if wanted.limit == 0:
        return Result("FETCH 0", (await desk.describe_portal(wanted.name))[0])
    part = await desk.execute(wanted.name, wanted.limit or 0)
    return Result(
        f"FETCH {len(part.rows)}",
        part.result.fields,
        part.rows,
        part.result.notices,
        part.result.charged,
    )


async def close(desk: Desk, given: Statement, _: Sequence[Any]) -> Result:
    """Forget a cursor."""
    name = given.tokens[1] if len(given.tokens) > 1 else None
    if name is None:
        raise SqlError("CLOSE needs a cursor", fix="CLOSE c")
    if name.upper == "ALL":
        desk.portals.clear()
        return Result("CLOSE CURSOR ALL")
    desk.portal(name.value)
    del desk.portals[name.value]
    return Result("CLOSE CURSOR")


async def unlisten(_: Desk, __: Statement, ___: Sequence[Any]) -> Result:
    """Do nothing: nobody listens here."""
    return Result("UNLISTEN")


async def call(desk: Desk, given: Statement, values: Sequence[Any]) -> Result:
    """Do what an owner may: let a user ask again."""
    who = sql.read_call(given, values)
    await desk.guest.unlock(who)
    return Result("CALL", notices=(f"{who} may ask again",))


RUN: Mapping[str, Command] = {
    **dict.fromkeys(sql.BEGIN, begin),
    **dict.fromkeys(sql.COMMIT, commit),
    **dict.fromkeys(sql.ROLLBACK, rollback),
    "SAVEPOINT": savepoint,
    "RELEASE": savepoint,
    "SET": set_setting,
    "RESET": reset,
    "SHOW": show,
    "DISCARD": discard,
    "DEALLOCATE": deallocate,
    "DECLARE": declare,
    "FETCH": fetch,
    "CLOSE": close,
    "UNLISTEN": unlisten,
    "CALL": call,
}
