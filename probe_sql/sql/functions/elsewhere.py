"""What other systems call a function or write it like, said in the words of this dialect.

A row stands here only if the translation means the same for every value: where the other system
counts days or weeks otherwise, or reads a setting, it is left out and the call is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.sql.functions.time import TRUNCATIONS

_MOST_TWICE = 40  # nodes of an argument that stands twice in what is made of it
Arguments = Sequence[exp.Expr]
Builder = Callable[[Arguments], exp.Expr | None]

# What T-SQL calls parts of a date, without those that depend on a setting.
_PARTS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "qq": "quarter",
    "q": "quarter", "month": "month", "mm": "month", "m": "month", "dayofyear": "dayofyear",
    "dy": "dayofyear", "day": "day", "dd": "day", "d": "day", "hour": "hour", "hh": "hour",
    "minute": "minute", "mi": "minute", "n": "minute", "second": "second", "ss": "second",
    "s": "second", "isoweek": "week", "iso_week": "week", "isowk": "week", "isoww": "week",
    "isodow": "isodow", "doy": "dayofyear",
}  # fmt: skip
_WEEKDAYS = ("weekday", "dw")
_DAYS = ("day", "hour", "minute", "second", "month", "quarter", "year")
_DATENAMES = {"weekday": "dayname", "dw": "dayname", "month": "monthname", "mm": "monthname",
              "m": "monthname"}  # fmt: skip
_DOTNET = {
    "yyyy": "%Y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dddd": "%A", "ddd": "%a", "dd": "%d",
    "HH": "%H", "mm": "%M", "ss": "%S",
}  # fmt: skip
_TO_CHAR = {
    "YYYY": "%Y", "FMMonth": "%B", "Mon": "%b", "MM": "%m", "FMDay": "%A", "Dy": "%a",
    "DDD": "%j", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S", "ID": "%u",
}  # fmt: skip
_MYSQL = {"i": "%M", "s": "%S", "S": "%S", "M": "%B", "W": "%A", "T": "%T", "k": None,
          **{letter: f"%{letter}" for letter in "YmdHjbaw"}}  # fmt: skip
# T-SQL's styles, by the length of the text that they are cut to.
_LONG = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 13: "%Y-%m-%d %H", 16: "%Y-%m-%d %H:%M",
         19: "%Y-%m-%d %H:%M:%S"}  # fmt: skip
_STYLES = {
    "20": _LONG, "120": _LONG, "23": {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d"},
    "112": {4: "%Y", 6: "%Y%m", 8: "%Y%m%d"}, "108": {5: "%H:%M", 8: "%H:%M:%S"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A function that another system has. `build` gives None where its arguments are not known."""

    name: str
    written: str
    means: str  # how it is written here, for people
    build: Builder


# --- nodes ---------------------------------------------------------------------------------------


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(str(value))


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _part(name: str, moment: exp.Expr) -> exp.Expr:
    return _call("date_part", _text(name), moment)


def _trunc(name: str, moment: exp.Expr) -> exp.Expr:
    return exp.TimestampTrunc(this=moment, unit=exp.Var(this=name.upper()))


def _strftime(moment: exp.Expr, form: str) -> exp.Expr:
    return exp.TimeToStr(this=moment, format=_text(form))


def _word(node: exp.Expr) -> str:
    """A word that is written without quotes, or as a text; empty for anything else."""
    if isinstance(node, exp.Column) and not node.table:
        return node.name.lower()
    if (isinstance(node, exp.Literal) and node.is_string) or isinstance(node, exp.Var):
        return str(node.name).lower()
    return ""


def _bare(node: exp.Expr) -> str:
    """A word without quotes."""
    return "" if isinstance(node, exp.Literal) else _word(node)


def _written(node: exp.Expr) -> bool:
    """A text of the query."""
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _long(node: exp.Expr) -> bool:
    """Whether writing it twice, and that again, could make a short text very long."""
    return sum(1 for _ in islice(node.walk(), _MOST_TWICE + 1)) > _MOST_TWICE


def _integer(node: exp.Expr) -> int | None:
    sign = -1 if isinstance(node, exp.Neg) else 1
    inner = node.this if isinstance(node, exp.Neg) else node
    plain = isinstance(inner, exp.Literal) and not inner.is_string and inner.this.isdecimal()
    return sign * int(inner.this) if plain and len(inner.this) < 10 else None


def _translated(form: str, words: Mapping[str, str]) -> str | None:
    """A format in the letters of strftime; None where a part of it is not known."""
    known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    found = ""
    for word, letters, other in re.findall(rf"({known})|([A-Za-z]+)|([^A-Za-z]+)", form):
        if letters:
            return None
        found += words[word] if word else other.replace("%", "%%").replace('"', "")
    return found


# --- builders ------------------------------------------------------------------------------------


def _datepart(given: Arguments) -> exp.Expr | None:
    if len(given) != 2 or not _bare(given[0]):
        return None
    if _bare(given[0]) in _WEEKDAYS:
        return exp.Paren(this=exp.Add(this=_part("dayofweek", given[1]), expression=_number(1)))
    name = _PARTS.get(_bare(given[0]))
    return None if name is None else _part(name, given[1])


def _date_part(given: Arguments) -> exp.Expr | None:
    """Snowflake's and Redshift's, whose words are not always T-SQL's."""
    if len(given) != 2 or not _bare(given[0]):
        return None
    name = _bare(given[0])
    return _part(name, given[1]) if name in set(_PARTS.values()) - {"week"} else None


def _datename(given: Arguments) -> exp.Expr | None:
    if len(given) != 2:
        return None
    word = _bare(given[0])
    if word in _DATENAMES:
        return _call(_DATENAMES[word], given[1])
    name = _PARTS.get(word)
    if name is None:
        return None
    return exp.Cast(this=_part(name, given[1]), to=exp.DataType.build("VARCHAR", dialect="duckdb"))


def _dateadd(given: Arguments) -> exp.Expr | None:
    if len(given) != 3:
        return None
    name, number = _PARTS.get(_bare(given[0])), _integer(given[1])
    nothing = _integer(given[2]) == 0
    whole = given[1]
    if name in TRUNCATIONS and name != "week" and nothing and isinstance(whole, exp.DateDiff):
        # DATEADD(month, DATEDIFF(month, 0, x), 0), the first moment of the month.
        unit = whole.args.get("unit")
        same = unit is not None and _PARTS.get(unit.name.lower()) == name
        return _trunc(name, whole.this) if same and _integer(whole.expression) == 0 else None
    if name not in _DAYS or number is None:
        return None
    step = exp.Interval(this=_text(str(abs(number))), unit=exp.Var(this=name.upper()))
    node = exp.Sub if number < 0 else exp.Add
    return exp.Paren(this=node(this=given[2], expression=step))


def _datediff(given: Arguments) -> exp.Expr | None:
    """MySQL's DATEDIFF(a, b) in days, T-SQL's with a unit by any of its names."""
    if len(given) == 2:
        return exp.DateDiff(this=given[0], expression=given[1], unit=exp.Var(this="DAY"))
    word = _bare(given[0]) if len(given) == 3 else ""
    name = _PARTS.get(word)
    if name not in _DAYS:
        return _call("datediff", *given) if word else None
    return exp.DateDiff(this=given[2], expression=given[1], unit=exp.Var(this=name.upper()))


def _date_diff(given: Arguments) -> exp.Expr | None:
    """BigQuery's DATE_DIFF(a, b, unit)."""
    if len(given) != 3 or _bare(given[2]) not in _DAYS or _written(given[0]):
        return None
    return exp.DateDiff(
        this=given[0], expression=given[1], unit=exp.Var(this=_bare(given[2]).upper())
    )


def _bigquery_trunc(given: Arguments) -> exp.Expr | None:
    if len(given) != 2 or _written(given[0]):
        return None  # date_trunc('month', day) has its unit first
    unit = {"isoweek": "week"}.get(_bare(given[1]), _bare(given[1]))
    if unit not in TRUNCATIONS or (unit == "week" and _bare(given[1]) == "week"):
        return None
    return _trunc(unit, given[0])


def _moved(sign: type[exp.Binary]) -> Builder:
    def build(given: Arguments) -> exp.Expr | None:
        if len(given) != 2 or not isinstance(given[1], exp.Interval):
            return None
        return exp.Paren(this=sign(this=given[0], expression=given[1]))

    return build


def _formatted(words: Mapping[str, str], first: bool = False) -> Builder:
    """A moment written by a format of another system."""

    def build(given: Arguments) -> exp.Expr | None:
        if len(given) != 2:
            return None
        when, form = (given[1], given[0]) if first else given
        if not isinstance(form, exp.Literal) or not form.is_string or isinstance(when, exp.Literal):
            return None
        translated = _translated(form.this, words)
        return None if translated is None else _strftime(when, translated)

    return build


def _date_format(given: Arguments) -> exp.Expr | None:
    """MySQL's, whose letters are not strftime's."""
    form = given[1] if len(given) == 2 else None
    if not isinstance(form, exp.Literal) or not form.is_string:
        return None
    found, rest = "", iter(form.this)
    for letter in rest:
        if letter != "%":
            found += letter
            continue
        kind = next(rest, "")
        meant = "%%" if kind == "%" else _MYSQL.get(kind)
        if meant is None:
            return None
        found += meant
    return _strftime(given[0], found)


def _same_format(given: Arguments) -> exp.Expr | None:
    """BigQuery's FORMAT_DATE('%Y', t)."""
    form = given[0] if len(given) == 2 else None
    if not isinstance(form, exp.Literal) or not form.is_string:
        return None
    return _strftime(given[1], form.this)


_LONGEST_NUMBER = 41  # a DECIMAL of 38 digits with its sign, its point and a 0


def _is_text(node: exp.Expr) -> bool:
    kinds = exp.DPipe | exp.Concat | exp.Upper | exp.Lower | exp.Substring | exp.Left
    return isinstance(node, kinds) or (isinstance(node, exp.Literal) and bool(node.is_string))


def converted(
    to: exp.DataType, value: exp.Expr, style: exp.Expr | None, length: int | None
) -> exp.Expr | None:
    """T-SQL's CONVERT(type, value[, style]), which cuts a text to the length of its type.

    It cuts 2.7 to the whole number 2, and writes a number that is too long as *: what may be such
    a number is refused.
    """
    name, written = to.sql(dialect="duckdb"), value.sql(dialect="duckdb")
    if to.is_type(*exp.DataType.INTEGER_TYPES) and not isinstance(value, exp.Count):
        raise Refused(
            f"CONVERT({name}, x) is not supported",
            why="it cuts 2.7 to 2, and a cast rounds it to 3",
            fix=f"CAST(trunc({written}) AS {name}) cuts, CAST({written} AS {name}) rounds; of "
            "whole numbers both are the same",
        )
    if not to.is_type(*exp.DataType.TEXT_TYPES):
        return exp.Cast(this=value, to=to) if style is None else None
    if style is None:
        if length is not None and length < _LONGEST_NUMBER and not _is_text(value):
            raise Refused(
                f"CONVERT(varchar({length}), x) is not supported for what may be a number",
                why="a number that is longer becomes * in T-SQL",
                fix=f"left(CAST({written} AS VARCHAR), {length}) cuts whatever it is",
            )
        plain = exp.DataType.build("VARCHAR", dialect="duckdb")
        text: exp.Expr = exp.Cast(this=value, to=plain)
        return text if length is None else _call("left", text, _number(length))
    forms = _STYLES.get(style.name)
    if forms is None:
        return None
    whole = max(forms)
    form = forms.get(whole if length is None else min(length, whole))
    return None if form is None else _strftime(value, form)


def _to(name: str) -> Builder:
    def build(given: Arguments) -> exp.Expr | None:
        if len(given) != 1:
            return None
        return exp.Cast(this=given[0], to=exp.DataType.build(name, dialect="duckdb"))

    return build


def _through(function: Callable[[exp.Expr], exp.Expr]) -> Builder:
    """A function of one argument."""
    return lambda given: function(given[0]) if len(given) == 1 else None


def _named(name: str) -> Builder:
    return lambda given: _call(name, *given)


def _pair(function: Callable[[exp.Expr, exp.Expr], exp.Expr]) -> Builder:
    return lambda given: function(given[0], given[1]) if len(given) == 2 else None


def _clock(given: Arguments) -> exp.Expr | None:
    return None if given else exp.CurrentTimestamp()


def _strftime_now(given: Arguments) -> exp.Expr | None:
    """SQLite's strftime('%Y', 'now'): the clock."""
    if len(given) == 2 and any(_word(one) == "now" and one.name == "now" for one in given):
        return exp.CurrentTimestamp()
    return None


def _distinct(node: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[node]), big_int=True)


def _filtered(aggregate: type[exp.Expr]) -> Builder:
    def build(given: Arguments) -> exp.Expr | None:
        if len(given) != 2:
            return None
        test = exp.Where(this=given[1])
        return exp.Filter(this=aggregate(this=given[0]), expression=test)

    return build


def _coalesced(node: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=node, expressions=[other])


def _cut(given: Arguments) -> exp.Expr | None:
    """TRUNC of a number, towards 0."""
    if any(map(_long, given)):
        return None
    if len(given) not in (1, 2) or (len(given) == 2 and _integer(given[1]) != 0):
        return None
    size = exp.Floor(this=exp.Abs(this=given[0].copy()))
    return exp.Paren(this=exp.Mul(this=exp.Sign(this=given[0]), expression=size))


def _month_number(given: Arguments) -> exp.Expr | None:
    """ClickHouse's toYYYYMM."""
    if len(given) != 1 or _long(given[0]):
        return None
    node = given[0]
    year = exp.Mul(this=exp.Year(this=node.copy()), expression=_number(100))
    return exp.Paren(this=exp.Add(this=year, expression=exp.Month(this=node)))


def _over(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Div(this=exp.Paren(this=first), expression=exp.Paren(this=second)))


def _rows(written: str, means: str, build: Builder, *names: str) -> list[Elsewhere]:
    return [Elsewhere(name.upper(), written, means, build) for name in names]


ELSEWHERE: Mapping[str, Elsewhere] = {
    row.name: row
    for rows in (
        _rows("DATEPART(unit, t)", "`date_part('unit', t)`; of `weekday` Sunday is 1",
              _datepart, "datepart"),
        _rows("DATE_PART(unit, t)", "`date_part('unit', t)`", _date_part, "date_part"),
        _rows("DATENAME(unit, t)", "`dayname(t)`, `monthname(t)`, or the part as a text",
              _datename, "datename"),
        _rows("DATEADD(unit, n, t)", "`t + INTERVAL 'n' unit`", _dateadd, "dateadd"),
        _rows("DATEDIFF([unit, ]a, b)", "`date_diff('unit', a, b)`; MySQL's, without a unit, is "
              "`date_diff('day', b, a)`", _datediff, "datediff"),
        _rows("DATE_DIFF(a, b, unit)", "`date_diff('unit', b, a)`", _date_diff, "date_diff"),
        _rows("DATE_TRUNC(t, unit)", "`date_trunc('unit', t)`", _bigquery_trunc,
              "date_trunc", "timestamp_trunc", "datetime_trunc"),
        _rows("DATE_ADD(t, INTERVAL ...)", "`t + INTERVAL ...`", _moved(exp.Add), "date_add"),
        _rows("DATE_SUB(t, INTERVAL ...)", "`t - INTERVAL ...`", _moved(exp.Sub), "date_sub"),
        _rows("DATE_FORMAT(t, 'format')", "`strftime`", _date_format, "date_format"),
        _rows("TO_CHAR(t, 'format')", "`strftime`, with YYYY MM DD HH24 MI SS Mon Dy DDD ID",
              _formatted(_TO_CHAR), "to_char"),
        _rows("FORMAT(t, 'format')", "`strftime`, with yyyy MM MMM MMMM dd ddd dddd HH mm ss",
              _formatted(_DOTNET), "format"),
        _rows("FORMAT_DATE('format', t)", "`strftime(t, 'format')`", _same_format,
              "format_date", "format_datetime", "format_timestamp"),
        _rows("DATE(t)", "`CAST(t AS DATE)`", _to("DATE"), "date", "todate", "to_date"),
        _rows("DATETIME(t)", "`CAST(t AS TIMESTAMP)`", _to("TIMESTAMP"), "datetime", "todatetime"),
        _rows("toYear(t)", "`year(t)`", _named("year"), "toyear"),
        _rows("toQuarter(t)", "`quarter(t)`", _named("quarter"), "toquarter"),
        _rows("toMonth(t)", "`month(t)`", _named("month"), "tomonth"),
        _rows("toDayOfMonth(t)", "`day(t)`", _named("day"), "todayofmonth"),
        _rows("toDayOfWeek(t)", "`isodow(t)`", _named("isodow"), "todayofweek"),
        _rows("toHour(t)", "`hour(t)`", _named("hour"), "tohour"),
        _rows("toMinute(t)", "`minute(t)`", _named("minute"), "tominute"),
        _rows("toYYYYMM(t)", "`year(t) * 100 + month(t)`", _month_number, "toyyyymm"),
        *(
            _rows(f"toStartOf{unit.title()}(t)", f"`date_trunc('{unit}', t)`",
                  _through(lambda node, unit=unit: _trunc(unit, node)),  # type: ignore[misc]
                  f"tostartof{unit}")
            for unit in ("minute", "hour", "day", "month", "quarter", "year")
        ),
        _rows("ISNULL(x, y)", "`COALESCE(x, y)`", _pair(_coalesced), "isnull"),
        _rows("ZEROIFNULL(x)", "`COALESCE(x, 0)`",
              _through(lambda node: _coalesced(node, _number(0))), "zeroifnull"),
        _rows("TOTAL(x)", "`COALESCE(SUM(x), 0)`",
              _through(lambda node: _coalesced(exp.Sum(this=node), _number(0))), "total"),
        _rows("SAFE_DIVIDE(x, y)", "`x / y`", _pair(_over), "safe_divide"),
        _rows("TRUNC(x)", "`sign(x) * floor(abs(x))`", _cut, "trunc", "truncate"),
        _rows("SQUARE(x)", "`x * x`",
              _through(lambda node: exp.Pow(this=node, expression=_number(2))), "square"),
        _rows("MID(s, n, n)", "`substring(s, n, n)`", _named("substring"), "mid"),
        _rows("APPROX_COUNT_DISTINCT(x)", "`COUNT(DISTINCT x)`", _through(_distinct),
              "approx_count_distinct", "approx_distinct", "uniq", "uniqexact", "uniqcombined"),
        _rows("sumIf(x, p)", "`SUM(x) FILTER (WHERE p)`", _filtered(exp.Sum), "sumif"),
        _rows("avgIf(x, p)", "`AVG(x) FILTER (WHERE p)`", _filtered(exp.Avg), "avgif"),
        _rows("VAR(x)", "`VAR_SAMP(x)`", _through(lambda node: exp.Variance(this=node)), "var"),
        _rows("VARP(x)", "`VAR_POP(x)`", _through(lambda node: exp.VariancePop(this=node)),
              "varp"),
        _rows("STDEVP(x)", "`STDDEV_POP(x)`", _through(lambda node: exp.StddevPop(this=node)),
              "stdevp"),
        _rows("GETDATE()", "the clock, which is refused", _clock,
              "getdate", "getutcdate", "sysdatetime", "now", "curdate", "today"),
        _rows("strftime('format', 'now')", "the clock, which is refused", _strftime_now,
              "strftime"),
    )
    for row in rows
}  # fmt: skip
