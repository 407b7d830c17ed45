"""The local mail server: what it stores, what it shows, and how it starts and ends."""

import json
import signal
import smtplib
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]
HOSTILE = b"""From: <script>alert(1)</script> <a@b.test>\r
To: =?UTF-8?Q?M=C3=BCller=2C_J=C3=B6rg?= <b@b.test>\r
Subject: =?UTF-8?Q?=3Cb=3Ebold=3C/b=3E?=\r
Message-ID: <one@b.test>\r
MIME-Version: 1.0\r
Content-Type: multipart/alternative; boundary=x\r
\r
--x\r
Content-Type: text/plain; charset=utf-8\r
\r
Plain <i>text</i> https://example.test/?a=1&b=2\r
..dots\r
--x\r
Content-Type: text/html; charset=utf-8\r
\r
<p title="q">Rich</p><script>alert(2)</script>\r
--x--\r
"""
MALFORMED = [
    b"",
    b"no header at all\r\n",
    b"Subject: \xff\xfe\r\nTo: <<<>>>,,@\r\nFrom: =?x?y?z?=\r\n\r\n\xff\r\n",
    b"Subject: x\r\nContent-Type: text/html; charset=nonsense\r\n\r\n<p>\xff\r\n",
    b"Subject: x\r\nContent-Type: multipart/mixed\r\n\r\nno boundary\r\n",
]


@dataclass
class Sink:
    """A running sink."""

    process: "subprocess.Popen[str]"
    smtp_port: int
    web: str
    folder: Path

    def send(self, mail: bytes, *, recipient: str = "b@b.test") -> None:
        with smtplib.SMTP("127.0.0.1", self.smtp_port, "client.test", timeout=10) as smtp:
            smtp.sendmail("a@b.test", [recipient], mail, mail_options=["SMTPUTF8"])

    def get(self, path: str) -> str:
        with urlopen(self.web + path, timeout=10) as answer:
            body: bytes = answer.read()
        return body.decode()

    def listed(self, query: str = "") -> Any:
        return json.loads(self.get(f"/mails.json{query}"))


def _command(smtp_port: int, http_port: int, folder: Path) -> list[str]:
    ports = ["--smtp-port", str(smtp_port), "--http-port", str(http_port)]
    return [sys.executable, "-m", "dev.mail_sink", *ports, "--folder", str(folder)]


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    folder = tmp_path / "outbox"
    with subprocess.Popen(
        _command(0, 0, folder), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        yield Sink(process, int(words[2].rpartition(":")[2]), words[-1].rstrip("/"), folder)
        process.kill()


def test_a_mail_is_kept_as_it_came_below_its_envelope(sink: Sink) -> None:
    sink.send(HOSTILE, recipient="jörg@b.test")
    (file,) = sink.folder.iterdir()
    assert file.suffix == ".eml"
    envelope = "X-MailFrom: a@b.test\r\nX-RcptTo: jörg@b.test\r\n".encode()
    assert file.read_bytes() == envelope + HOSTILE


def test_mails_are_listed_newest_first(sink: Sink) -> None:
    assert "No mail yet" in sink.get("/")
    for number in range(3):
        sink.send(b"From: a@b.test\r\nTo: b@b.test\r\nSubject: Mail %d\r\n\r\nHi\r\n" % number)
    listed = sink.listed()
    assert [mail["subject"] for mail in listed["mails"]] == ["Mail 2", "Mail 1", "Mail 0"]
    assert (listed["total"], listed["pages"]) == (3, 1)
    page = sink.get("/")
    assert page.index("Mail 2") < page.index("Mail 1") < page.index("Mail 0")


def test_a_mail_is_shown_with_everything_escaped(sink: Sink) -> None:
    sink.send(HOSTILE)
    (mail,) = sink.listed()["mails"]
    assert mail["subject"] == "<b>bold</b>"
    page = sink.get(f"/mails/{mail['id']}")
    assert "<script>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "Plain &lt;i&gt;text&lt;/i&gt;" in page
    assert 'href="https://example.test/?a=1&amp;b=2"' in page
    assert "Müller, Jörg" in page


def test_the_html_of_a_mail_can_run_and_fetch_nothing(sink: Sink) -> None:
    sink.send(HOSTILE)
    (mail,) = sink.listed()["mails"]
    with urlopen(f"{sink.web}/mails/{mail['id']}", timeout=10) as answer:
        page = answer.read().decode()
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert '<iframe sandbox title="The mail as HTML" srcdoc="&lt;p title=&#34;q&#34;&gt;Rich' in page


def test_malformed_mails_are_shown_all_the_same(sink: Sink) -> None:
    for mail in MALFORMED:
        sink.send(mail)
    listed = sink.listed()["mails"]
    assert len(listed) == len(MALFORMED)
    for mail in listed:
        assert "Headers" in sink.get(f"/mails/{mail['id']}")
        assert mail["id"] in sink.get("/")


def test_what_is_not_there_is_not_found(sink: Sink) -> None:
    for path in (
        "/mails/nothing",
        "/mails/00000000-0000-7000-8000-000000000000",
        "/mails/../x",
        "/etc/passwd",
    ):
        with pytest.raises(HTTPError) as caught:
            sink.get(path)
        assert caught.value.code == 404
        caught.value.close()


def test_any_page_number_is_answered(sink: Sink) -> None:
    for page in ("2", "0", "-1", "x", "9" * 5000):
        assert sink.listed(f"?page={page}")["mails"] == []


def test_a_mail_that_is_too_large_is_refused(sink: Sink) -> None:
    with smtplib.SMTP("127.0.0.1", sink.smtp_port, "client.test", timeout=10) as smtp:
        smtp.ehlo()
        assert smtp.mail("a@b.test", ["SIZE=100000000"])[0] == 552


def test_it_ends_cleanly_on_sigterm_while_a_client_is_connected(sink: Sink) -> None:
    with smtplib.SMTP("127.0.0.1", sink.smtp_port, "client.test", timeout=10) as smtp:
        smtp.ehlo()
        sink.process.send_signal(signal.SIGTERM)
        assert sink.process.wait(timeout=20) == 0
        smtp.close()
    assert sink.process.stderr is not None
    assert sink.process.stderr.read() == ""


@pytest.mark.parametrize("busy", ["smtp", "http"])
def test_a_busy_port_is_named_in_one_line(busy: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        smtp_port, http_port = (port, 0) if busy == "smtp" else (0, port)
        ended = subprocess.run(
            _command(smtp_port, http_port, tmp_path),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == f"mail sink: port {port} is already in use\n"
