"""Header values encoded here, not by the standard library.

`EmailMessage` decodes an encoded-word that a person typed and writes the result unencoded when it folds the
line: in Python 3.11 a name such as `=?UTF-8?Q?=0A?=Bcc: x@y` becomes a second header. So anything that is not
plain ASCII, or looks like an encoded-word, is encoded as a whole (RFC 2047), and stored with `set_raw`, which
keeps `EmailMessage` from reading it again.
"""

from email.header import Header

from services.email.addresses import Mailbox


def encode_text(text: str, *, header: str) -> str:
    """`text`, which is one line, as the value of an unstructured header such as Subject."""
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name=header).encode()


def encode_mailbox(mailbox: Mailbox, *, header: str) -> str:
    """One `name <address>`; quotes and commas in the name cannot end it."""
    if not mailbox.name:
        return mailbox.wire
    if mailbox.name.isascii() and "=?" not in mailbox.name:
        escaped = mailbox.name.replace("\\", "\\\\").replace('"', '\\"')
        name = f'"{escaped}"'
    else:
        name = encode_text(mailbox.name, header=header)
    # RFC 5322 wants lines below 79 characters; the mailbox may go on in the next.
    fold = "\n " if len(f"{header}: {name} <{mailbox.wire}>") > 78 else " "
    return f"{name}{fold}<{mailbox.wire}>"
