"""Values as their author wants them written: a number with its thousands, a date in the reader's own time, code."""

import re
from datetime import date, datetime
from typing import Any

from bot.views.blocks import Block, mrkdwn_text, plain_text, utc
from bot.views.blocks import date as date_of
from bot.views.shown import Level
from bot.views.text import Shown, inline, inline_mrkdwn
from bot.views.values import in_line, text_of

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")


def formatted(value: Any, form: str, level: Level) -> Block:
    """Return a value alone in a cell; one that is not of the form is shown as any other."""
    if form == "date" and (moment := _moment(value)):
        return mrkdwn_text(date_of(moment))
    if form == "code" and (text := text_of(value)):
        return mrkdwn_text(Shown(f"`{inline_mrkdwn(text, level.chars)}`"))
    written = _written(value, form)
    return level.cell(value) if written is None else plain_text(written)


def formatted_part(value: Any, form: str, limit: int) -> Shown:
    """Return a value as a part of a line."""
    written = _written(value, form)
    return in_line(value, limit) if written is None else written


def _written(value: Any, form: str) -> Shown | None:
    """Return a number or a date in our own words, None for everything else."""
    number = value if isinstance(value, str) else str(value)
    is_number = not isinstance(value, bool) and _NUMBER.fullmatch(number)
    if form == "number" and is_number:
        whole, dot, rest = number.partition(".")
        return Shown(f"{int(whole):,}{dot}{rest}" if whole != "-0" else number)
    if form == "percent" and is_number:
        return Shown(f"{number} %")
    if form == "date" and (moment := _moment(value)):
        return Shown(utc(moment))
    if form == "date" and (day := _day(value)):
        return Shown(f"{day.day} {day:%B} {day.year}")
    return None


def _moment(value: Any) -> datetime | None:
    """Return the moment that a text in the form of ISO 8601 says, None where it names no time zone."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment if moment and moment.tzinfo and moment.timestamp() >= 0 else None
    except (ValueError, OverflowError):
        return None


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def author(words: str) -> Block:
    """Return an author's label in bold, without the marks that would end it."""
    return mrkdwn_text(Shown(f"*{inline_mrkdwn(words, 60)}*"))


def title_of(words: str) -> Shown:
    """Return an author's label as a part of a line."""
    return inline(words, 60)
