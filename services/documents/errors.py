"""What can go wrong between an uploaded document and an answer, by remedy.

Messages name the limit or the fault and never the document: no text, no file name, no key.
"""

from services.errors import Permanent, SenderOutage, Throttled, Transient


class DocumentUnreadable(Permanent):
    """The document itself is at fault; another attempt meets the same file."""

    code = "document_unreadable"


class PasswordProtected(DocumentUnreadable):
    """Opening it takes a password. One that only forbids editing or printing is read as usual."""

    code = "document_password_protected"


class NothingToRead(DocumentUnreadable):
    """No text in it: empty, or a scan. An engine given nothing would invent a plausible answer."""

    code = "document_nothing_to_read"


class DocumentTooLarge(DocumentUnreadable):
    """Over a limit in bytes, in pages, or in what it would unpack to."""

    code = "document_too_large"


class UnsupportedDocument(DocumentUnreadable):
    """Not one of the kinds that are read, whatever its name says."""

    code = "document_unsupported"


class DocumentBroken(DocumentUnreadable):
    """The right kind, but cut, damaged, or using what its format forbids."""

    code = "document_broken"


class ModelBusy(Transient):
    """Rate limit, overload, a timeout or a cut answer: the same request may pass later."""

    code = "model_busy"


class ModelThrottled(Throttled):
    """We ask more often than our account may: nobody asks until the time that the answer named."""

    code = "model_throttled"


class ModelMisconfigured(SenderOutage):
    """Key, credit, permission or model name: every request fails until a person mends it."""

    code = "model_misconfigured"


class RequestRefused(Permanent):
    """The API or the model declines this very request, and would decline it again."""

    code = "model_refused"


class AnswerUnusable(Permanent):
    """The model answered, was paid, and its answer does not fit the schema.

    Permanent on purpose: output is bound to the schema by the API, so a misfit is a cut answer or a
    document that steers the model. The same request tends to the same end, and each repeat costs again;
    an operator may replay it. The message carries the tokens spent.
    """

    code = "answer_unusable"
