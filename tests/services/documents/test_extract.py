"""Every sample file either gives its text, in order, or is refused for the right reason."""

import contextlib
import csv
import io
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from services.documents import errors
from services.documents.extract import Document, extract
from services.documents.identify import identify
from services.errors import Permanent

ReadSample = Callable[[str], Document]
DATA = Path(__file__).parents[2] / "data" / "documents"
ROWS = list(csv.DictReader((DATA / "MANIFEST.csv").read_text("utf-8").splitlines()))
READABLE = [row for row in ROWS if not row["refused_as"]]
REFUSED = [row for row in ROWS if row["refused_as"]]


@pytest.mark.parametrize("row", READABLE, ids=lambda row: str(row["file"]))
def test_every_fact_comes_out_in_reading_order(row: dict[str, str], read_sample: ReadSample) -> None:
    document = read_sample(row["file"])
    assert list(dict.fromkeys(re.findall(r"FACT-[A-Z0-9-]+", document.text))) == row["facts"].split()
    assert document.media_type == row["media_type"]
    assert document.characters == len(document.text)


@pytest.mark.parametrize("row", READABLE, ids=lambda row: str(row["file"]))
def test_what_comes_out_can_be_sent_and_stored(row: dict[str, str], read_sample: ReadSample) -> None:
    text = read_sample(row["file"]).text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\ufeff]", text)
    assert text.encode("utf-8")


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: str(row["file"]))
def test_an_unreadable_document_is_refused_by_name(row: dict[str, str], read_sample: ReadSample) -> None:
    with pytest.raises(getattr(errors, row["refused_as"])) as refusal:
        read_sample(row["file"])
    assert isinstance(refusal.value, Permanent)
    assert row["file"] not in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    ["zero_bytes.pdf", "html_named.pdf", "plain_zip_named.docx", "txt_named.docx", "truncated.docx",
     "zip_bomb_200MB.docx", "random_binary.txt"],
)  # fmt: skip
def test_the_door_refuses_it_without_reading_it_all(name: str, samples: Path) -> None:
    with (samples / name).open("rb") as stream, pytest.raises(errors.DocumentUnreadable):
        identify(stream, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("utf8.txt", "Ελληνικά, русский, 日本語, emoji 🫖"),
        ("utf16le_bom.txt", "Ελληνικά, русский, 日本語, emoji 🫖"),
        ("utf16be_bom.txt", "Ελληνικά, русский, 日本語, emoji 🫖"),
        ("latin1.txt", "Café Grün, Größe 5 µm, prix 12 £, señor Núñez"),
        ("cp1252_smart_quotes.txt", "“Quoted” — it’s 5 €"),
        ("nul_bytes.txt", "runs two shifts.The board"),
        ("note.rtf", "Northwind kettle note FACT-RTF: café, € 5."),
    ],
)
def test_encodings_are_read_right(name: str, said: str, read_sample: ReadSample) -> None:
    assert said in read_sample(name).text


def test_scripts_and_styles_are_no_text(read_sample: ReadSample) -> None:
    assert "FACT-SCRIPT" not in read_sample("page.html").text


def test_content_decides_over_the_name(samples: Path) -> None:
    with (samples / "plain.pdf").open("rb") as stream:
        assert identify(stream, "notes.txt") == "application/pdf"
        assert stream.tell() == 0


def test_a_file_over_the_upload_limit_is_refused(configure: Callable[..., None]) -> None:
    configure(max_upload_bytes="10")
    with pytest.raises(errors.DocumentTooLarge):
        identify(io.BytesIO(b"eleven bytes"), "a.txt")


def test_an_encrypted_office_file_is_named_as_such() -> None:
    container = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(errors.PasswordProtected):
        identify(io.BytesIO(container), "report.docx")


def test_an_old_word_file_is_unsupported() -> None:
    with pytest.raises(errors.UnsupportedDocument):
        identify(io.BytesIO(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)), "report.doc")


def test_pages_are_counted(read_sample: ReadSample) -> None:
    document = read_sample("pages_150.pdf")
    assert (document.pages, document.pages_without_text) == (150, ())


def test_text_beyond_two_million_characters_is_cut_and_said_so() -> None:
    document = extract(io.BytesIO(b"word " * 500_000), "long.txt")
    assert (document.characters, document.truncated) == (2_000_000, True)


def test_broken_utf8_still_becomes_text() -> None:
    assert "good" in extract(io.BytesIO(b"good \xed\xa0\x80\xff text, " * 40), "a.txt").text


SPOKEN = "Café, русский, 日本語, naïve. "


@pytest.mark.parametrize(
    "content",
    [
        "Café ".encode() + b"\xff",
        SPOKEN.encode() + b"\xff",
        b"\xe9" + SPOKEN.encode(),
        b"ascii " * 12_000 + SPOKEN.encode() * 50 + b"\xff",
        SPOKEN.encode() * 500 + b"\xff" * 40,
    ],
    ids=["one and one", "end", "start", "after much ascii", "under a hundredth"],
)
def test_a_few_spoilt_bytes_leave_the_rest_of_utf8_as_it_was(content: bytes) -> None:
    text = extract(io.BytesIO(content), "a.txt").text
    assert "Café" in text
    assert text.count("Café") == content.count("Café".encode())
    assert text.count("日本語") == content.count("日本語".encode())


def test_another_encoding_is_recognised_after_much_ascii() -> None:
    content = b"ascii " * 12_000 + "Café Grün, Größe 5 µm. ".encode("latin-1") * 20
    assert extract(io.BytesIO(content), "a.txt").text.count("Café Grün, Größe 5 µm.") == 20


def test_a_pdf_is_not_blamed_for_the_one_before_it(read_sample: ReadSample) -> None:
    for name, error in (
        ("encrypted_user_password_rc4.pdf", errors.PasswordProtected),
        ("zero_pages.pdf", errors.DocumentBroken),
    ):
        with pytest.raises(error):
            read_sample(name)


RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Cyrillic;}}"
    r"{\field{\*\fldinst HYPERLINK \"http://example.com\"}{\fldrslt link}} \f1 \'cf\'f0\'e8 \f0 na\u239?ve "
    r"\u-10179?\u-8938? a\~b\line c\cell d\row {\deleted gone}{\pict 0a0b}{\*\x hidden}\{x\} "
    r"{\uc2 \u8364\'80\'80}5 \bin3 abcend}"
)


def test_rtf_gives_what_the_page_shows() -> None:
    text = extract(io.BytesIO(RTF.encode("ascii")), "a.rtf").text
    assert text == "link При naïve 🔖 a b\nc | d\n{x} €5 end"


def test_html_gives_lines_and_cells() -> None:
    page = (
        "<html><head><title>t</title></head><body><h1>Ti<b>t</b>le</h1><p>One <i>two</i>.<ul><li>a<li>b</ul>"
        "<table><tr><td>x<td>y</table><script>no</script>end &eacute; &amp;"
    )
    assert extract(io.BytesIO(page.encode()), "a.html").text == "Title\nOne two.\na\nb\nx | y |\nend é &"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<html>" + "<div><p>word" * 300_000),
        ("a.html", "<html>" + "<div>" * 400 + "</b>" * 500_000),
        ("a.html", "<html>" + "<!--" * 900_000),
        ("a.rtf", "{\\rtf1 " + '{\\field{\\*\\fldinst{HYPERLINK "' * 50_000),
        ("a.rtf", "{\\rtf1 " + "{}" * 300_000),
        ("a.rtf", "{\\rtf1 {\\fonttbl " + "\\f1\\fcharset1" * 200_000),
    ],
    ids=["unclosed", "unopened", "comments", "fields", "groups", "fonts"],
)
def test_no_markup_takes_more_than_ten_seconds(name: str, content: str) -> None:
    # Processor time: other tests may share the machine.
    begun = time.process_time()
    with contextlib.suppress(errors.DocumentUnreadable):
        extract(io.BytesIO(content.encode()), name)
    assert time.process_time() - begun < 10
