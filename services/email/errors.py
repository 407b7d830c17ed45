"""What can go wrong with a mail, by remedy. No message names an address, a text or a server's own words."""

from collections.abc import Mapping

from services.errors import OutcomeUnknown, Permanent, SenderOutage, Transient


class MailerUnavailable(Transient):
    """The server is down, busy or said "later" (4yz). Nothing was delivered."""

    code = "mailer_unavailable"


class MailerMisconfigured(SenderOutage):
    """Login, TLS, SMTP_URL or MAIL_FROM is at fault. Every mail would fail; none is failed for it."""

    code = "mailer_misconfigured"


class AddressRejected(Permanent):
    """The server refused the recipient for good, or the stored address is none."""

    code = "address_rejected"


class AddressUnsupported(Permanent):
    """The part before the @ is not ASCII and the server does not offer SMTPUTF8 (RFC 6531)."""

    code = "address_unsupported"


class MessageRejected(Permanent):
    """The server refused this message for good, or it is not one that can be sent."""

    code = "message_rejected"


class DeliveryUnknown(OutcomeUnknown):
    """The whole message was handed over and no answer came: it may have been delivered.

    It keeps the code `outcome_unknown`, which is what callers of the API look for.
    """


class DeliveryGone(Permanent):
    """The mail's row was removed before it was sent."""

    code = "delivery_gone"


class UnknownTemplate(Permanent):
    """No e-mail template has this name."""

    code = "unknown_template"


class TemplateBroken(Permanent):
    """A template, or the markup it was given, cannot be rendered: to be mended, not to be retried."""

    code = "template_broken"


class BadContext(Permanent):
    """The variables do not fit the template. `problems` maps each variable to the reason, without its value."""

    code = "bad_context"

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in problems.items()))
        self.problems = dict(problems)
