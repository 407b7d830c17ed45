"""Lines of a page back to paragraphs, whatever was wrapped and how narrow the column was."""

import io
from collections.abc import Sequence

import pytest

from services.documents.analyses import Summary
from services.documents.extract import extract
from services.documents.local import analyse_locally
from services.documents.local.paragraphs import paragraphs


def pdf(lines: Sequence[str]) -> bytes:
    """One page of Helvetica, a line below the other, as any program writes it that knows no paragraphs."""
    shown = "".join(f"({line}) Tj T*\n" for line in lines)
    content = f"BT /F1 11 Tf 72 760 Td 14 TL\n{shown}ET".encode("cp1252")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    # Without a table of offsets: readers find the objects all the same.
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n"


def test_a_summary_of_a_pdf_holds_whole_sentences() -> None:
    lines = [
        "Annual report 2026",
        "The plant in the valley makes more manu-",
        "factured kettles than any other plant in",
        "Norway does. The kettles of the plant are",
        "sold to every shop in the valley and in",
        "Sweden.",
    ]
    text = extract(io.BytesIO(pdf(lines)), "report.pdf").text
    answer = analyse_locally(text, "summary").answer
    assert isinstance(answer, Summary)
    assert answer.title == "Annual report 2026"
    assert answer.summary == (
        "The plant in the valley makes more manufactured kettles than any other plant in Norway does. "
        "The kettles of the plant are sold to every shop in the valley and in Sweden."
    )


def test_a_hyphen_that_is_the_words_own_is_kept_at_a_pdfs_line_end() -> None:
    stream = io.BytesIO(pdf(["Please send it to the known E-Mail-", "Adresse of the works"]))
    assert "E-Mail-Adresse" in extract(stream, "a.pdf").text


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        pytest.param(
            "A line that is wrapped and goes\non below.",
            ["A line that is wrapped and goes on below."],
            id="lower case",
        ),
        pytest.param(
            "A narrow column of a letter from\nNorway, which goes on and on in\nlong sentences.",
            ["A narrow column of a letter from Norway, which goes on and on in long sentences."],
            id="a name begins the next line",
        ),
        pytest.param(
            "The plant makes manufac-\ntured kettles.", ["The plant makes manufactured kettles."], id="hyphen"
        ),
        pytest.param(
            "The plant makes manufac\u00ad\ntured kettles.",
            ["The plant makes manufactured kettles."],
            id="soft hyphen",
        ),
        pytest.param(
            "Alle nannten die Vor-\nund Nachteile.",
            ["Alle nannten die Vor- und Nachteile."],
            id="half a word",
        ),
        pytest.param(
            "Bitte an die E-Mail-\nAdresse senden.", ["Bitte an die E-Mail-Adresse senden."], id="own hyphen"
        ),
        pytest.param("Kettle 12 30.00\nPot 14 20.00", ["Kettle 12 30.00", "Pot 14 20.00"], id="a table"),
        pytest.param("- first item\n- second item", ["- first item", "- second item"], id="a list"),
        pytest.param("apples\npears", ["apples", "pears"], id="single words"),
        pytest.param("One.\n\n\nTwo.\n", ["One.", "Two."], id="blank lines"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_lines_of_one_paragraph_are_joined_and_others_are_not(text: str, joined: list[str]) -> None:
    assert list(paragraphs(text)) == joined
