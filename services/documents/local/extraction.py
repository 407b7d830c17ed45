"""Extraction by patterns: dates, sums of money and e-mail addresses. Names need a model."""

import calendar
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from importlib import import_module
from importlib.metadata import version

import dateparser
from price_parser import Price

from services.documents.analyses import Amount, Date, Extraction

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "pl")
_MONTHS = [name.lower() for name in calendar.month_name[1:]]
# The longest list a person would still read; more come from tables.
_MOST = 200

_EMAIL = re.compile(r"(?<![\w.+-])[\w.%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}")
_NUMBER = r"\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
_SCALE = r"(?:\s(?:thousand|million|billion|Mio|Mrd)\b\.?)?"
_CODE = r"(?:USD|EUR|GBP|CHF|JPY|CNY|INR|DKK|SEK|NOK|PLN|CZK|CAD|AUD)\b"
_NAME = r"(?:euros?|dollars?|pounds?|francs?|kroner|kronor|yen)\b"
_MONEY = re.compile(
    rf"(?:[€£¥₹]\s?|(?:\b(?:US|AU?|CA?|HK|NZ|R|S))?\$\s?|\b{_CODE}\s?)(?:{_NUMBER}){_SCALE}"
    rf"|(?<![\d.,])(?:{_NUMBER}){_SCALE}\s?(?:[€£$¥₹]|{_CODE}|{_NAME})",
    re.IGNORECASE,
)
_SCALES = {
    "thousand": 1_000,
    "million": 1_000_000,
    "mio": 1_000_000,
    "billion": 1_000_000_000,
    "mrd": 1_000_000_000,
}
_NAMED = {"euro": "EUR", "dollar": "USD", "pound": "GBP", "yen": "JPY"}
_AMBIGUOUS = re.compile(r"(\d{1,2})/(\d{1,2})/\d{2,4}")


def find(text: str, _language: str) -> tuple[Extraction, str, str]:
    """What the patterns find, each once, in the text's order; the libraries' names; a note."""
    answer = Extraction(
        people=[],
        organisations=[],
        dates=[_date(written) for written in _distinct(_dates().findall(text))],
        amounts=[_amount(written) for written in _distinct(match[0] for match in _MONEY.finditer(text))],
        emails=_distinct(_EMAIL.findall(text)),
    )
    model = f"dateparser {version('dateparser')}, price-parser {version('price-parser')}"
    return answer, model, "Found by patterns; people and organisations are recognised by a model only."


def _distinct(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(written.split()).rstrip(".") for written in found))[:_MOST]


@cache
def _dates() -> re.Pattern[str]:
    """Candidates only: dateparser alone takes most words for dates and minutes for a long text."""
    names = {
        name.lower()
        for language in _LANGUAGES
        for month in _MONTHS
        for name in import_module(f"dateparser.data.date_translation_data.{language}").info[month]
    }
    month = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(
        r"\b\d{4}-\d{2}-\d{2}\b"
        r"|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s(?:of\s|de\s)?(?:{month})\b\.?(?:,?\s(?:de\s)?\d{{4}}\b)?"
        rf"|\b(?:{month})\b\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?",
        re.IGNORECASE,
    )


def _date(written: str) -> Date:
    """Day and month are told apart by the words or the dots; 03/04/2026 stays unresolved."""
    if not re.search(r"\d{4}", written) or _is_ambiguous(written):
        return Date(text=written, iso=None)
    order = "YMD" if written[:4].isdigit() else "DMY"
    if (slashed := _AMBIGUOUS.fullmatch(written)) and int(slashed[2]) > 12:
        order = "MDY"
    found = dateparser.parse(
        written,
        languages=list(_LANGUAGES),
        settings={"DATE_ORDER": order, "REQUIRE_PARTS": ["day", "month", "year"]},
    )
    return Date(text=written, iso=found.date().isoformat() if found else None)


def _is_ambiguous(written: str) -> bool:
    slashed = _AMBIGUOUS.fullmatch(written)
    return (
        slashed is not None and int(slashed[1]) <= 12 and int(slashed[2]) <= 12 and slashed[1] != slashed[2]
    )


def _amount(written: str) -> Amount:
    price = Price.fromstring(written)
    value = price.amount or Decimal(0)
    scale = re.search("|".join(_SCALES), written, re.IGNORECASE)
    if scale:
        value *= _SCALES[scale[0].lower()]
    return Amount(text=written, value=f"{value:f}", currency=_currency(written, price.currency))


def _currency(written: str, parsed: str | None) -> str | None:
    for name, code in _NAMED.items():
        if name in written.lower():
            return code
    code_match = re.search(_CODE, written, re.IGNORECASE)
    return code_match[0].upper() if code_match else parsed
