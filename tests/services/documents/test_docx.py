"""DOCX beyond the samples: what Word shows is read, and packages made to harm are refused."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from services.documents.errors import DocumentBroken, DocumentTooLarge, DocumentUnreadable, PasswordProtected
from services.documents.extract import extract

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="/word/document.xml"/></Relationships>'
)


def docx(body: str, **parts: str) -> io.BytesIO:
    """A package with this body; keyword `header1="…"` adds word/header1.xml."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("_rels/.rels", RELATIONS)
        package.writestr("word/document.xml", wrap("document", f"<w:body>{body}</w:body>"))
        for name, content in parts.items():
            package.writestr(f"word/{name}.xml", wrap("part", content))
    return stream


def wrap(root: str, content: str) -> str:
    return f'<w:{root} xmlns:w="{W}" xmlns:mc="{MC}" xmlns:v="urn:v">{content}</w:{root}>'


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def text_of(stream: io.BytesIO) -> str:
    return extract(stream, "a.docx").text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p><w:ins><w:r><w:t>Inserted words</w:t></w:r></w:ins></w:p>{paragraph('End')}", "Inserted words\nEnd"),
        (f"<w:sdt><w:sdtPr><w:t>no</w:t></w:sdtPr><w:sdtContent>{paragraph('Control')}</w:sdtContent></w:sdt>",
         "Control"),
        (f"<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{paragraph('Box')}</w:txbxContent></mc:Choice>"
         f"<mc:Fallback><v:textbox><w:txbxContent>{paragraph('Box')}</w:txbxContent></v:textbox></mc:Fallback>"
         "</mc:AlternateContent></w:r></w:p>", "Box"),
        ("<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>", "kept"),
        ("<w:p><w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom><w:r><w:t>here</w:t></w:r></w:p>", "here"),
        ("<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>", "a\tb"),
    ],
    ids=["insertion", "content control", "text box, once", "deletion", "moved away", "tab"],
)  # fmt: skip
def test_what_word_shows_is_read(body: str, text: str) -> None:
    assert text_of(docx(body)) == text


def test_a_table_row_is_a_line_and_an_empty_cell_keeps_its_place() -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"

    assert text_of(docx(f"<w:tbl>{row('a', '', 'c')}{row('', 'e', 'f')}</w:tbl>")) == "a |  | c\n | e | f"


def test_headers_come_first_footers_last_and_equal_ones_once() -> None:
    parts = {"footer1": "Foot", "header10": "Ten", "header2": "Two", "header1": "Two", "footnotes": "Note"}
    stream = docx(paragraph("Body"), **{name: paragraph(text) for name, text in parts.items()})
    assert text_of(stream) == "Two\nTen\nBody\nNote\nFoot"


def test_entities_are_refused_before_they_expand() -> None:
    lol = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    stream = docx("")
    with zipfile.ZipFile(stream, "a") as package:
        package.writestr("word/header1.xml", lol + wrap("hdr", paragraph("&b;")))
    with pytest.raises(DocumentBroken):
        text_of(stream)


def test_a_declared_size_that_lies_is_refused() -> None:
    data = bytearray(docx(paragraph("x" * 3_000_000)).getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        size = package.getinfo("word/document.xml").file_size
    honest = size.to_bytes(4, "little")
    with pytest.raises(DocumentUnreadable):
        text_of(io.BytesIO(bytes(data.replace(honest, (1000).to_bytes(4, "little")))))


def test_too_many_members_are_refused() -> None:
    stream = docx(paragraph("x"), **{f"custom{number}": "" for number in range(2_001)})
    with pytest.raises(DocumentTooLarge):
        text_of(stream)


def test_an_encrypted_member_is_named_as_such() -> None:
    data = docx(paragraph("x")).getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        entry = data.index(b"PK\x01\x02")
        assert package.infolist()
    flagged = bytearray(data)
    flagged[entry + 8] |= 1
    with pytest.raises(PasswordProtected):
        text_of(io.BytesIO(bytes(flagged)))


def test_members_with_paths_are_never_written(tmp_path: Path) -> None:
    stream = docx(paragraph("Body"))
    with zipfile.ZipFile(stream, "a") as package:
        package.writestr(f"{tmp_path}/absolute.txt", "evil")
        package.writestr(f"../../../..{tmp_path}/relative.txt", "evil")
    assert text_of(stream) == "Body"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of resident memory is read from /proc")
def test_a_bomb_and_a_huge_part_stay_below_300_megabytes(samples: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge.docx"
    body = "".join(paragraph(f"word {number}") for number in range(400_000))
    huge.write_bytes(docx(body).getvalue())
    program = (
        "import re, sys\n"
        "from services.documents.errors import DocumentUnreadable\n"
        "from services.documents.extract import extract\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        with open(path, 'rb') as stream: extract(stream, path)\n"
        "    except DocumentUnreadable: pass\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    paths = [str(samples / "zip_bomb_200MB.docx"), str(huge)]
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300 * 1024
