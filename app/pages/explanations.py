"""What an error code means for the person whose job it is, and what they can do."""

_NOT_YOURS = "Nothing is wrong with what you sent. The people who run this site have to mend a setting; the job waits for them."
_PICTURE = "The file is not a picture that can be worked on. Choose another one and send it again."

_MEANINGS = {
    # By remedy
    "transient": "Something the job needs did not answer. It is tried again by itself.",
    "permanent": "It cannot work with what was sent, however often it is tried.",
    "sender_outage": _NOT_YOURS,
    "throttled": "Only so many jobs of this kind may start in a given time. It waits for its turn.",
    "too_heavy": "It is larger than the limit for jobs of its kind allows in one go. Send it in parts.",
    "outcome_unknown": "It may have happened, and nobody can tell: the answer was lost on the way. It is not repeated "
    "blindly; an operator looks into it.",
    "bug": "The program itself is at fault. The people who run this site have been told and can run the job again.",
    "time_limit": "It took longer than a job of this kind may.",
    "worker_lost": "The worker that ran it was stopped in the middle. The job itself is safe.",
    "worker_shutdown": "The worker was shut down in between; another one takes over.",
    "payload_invalid": "The job was written in a form that this release cannot read.",
    "payload_too_new": "The job was written by a newer release and waits for a worker of that release.",
    "storage_unavailable": "The place where files are kept does not answer. It is tried again by itself.",
    "file_gone": "A file that the job needs is no longer stored. Send it again.",
    "upload_gone": "The uploaded file is no longer stored. Send it again.",
    # E-mail
    "mailer_unavailable": "The mail server is down or busy. Nothing was delivered yet; it is tried again by itself.",
    "mailer_misconfigured": _NOT_YOURS,
    "address_rejected": "The mail server refuses this address. Check it and send again.",
    "address_unsupported": "The mail server cannot deliver to an address with letters of this kind before the @.",
    "message_rejected": "The mail server refuses this message.",
    "delivery_gone": "The message is no longer stored, so it could not be sent.",
    "unknown_template": "There is no e-mail template of this name.",
    "template_broken": "A template of this site is broken. The people who run it have been told.",
    "bad_context": "The e-mail's variables do not fit its template.",
    # Alerts
    "webhook_unavailable": "The address for alerts does not answer. It is tried again by itself.",
    "webhook_refused": "The address for alerts refuses them.",
    # Pictures
    "picture_refused": _PICTURE,
    "picture_empty": "The file is empty. Choose the picture again.",
    "not_a_picture": _PICTURE,
    "picture_too_large": "The picture has more pixels or frames than one job may work on. Send a smaller one.",
    "picture_broken": "The picture is damaged or incomplete. Export or upload it again.",
    "picture_side_too_long": "The chosen format cannot hold a side of this length. Choose a smaller width or another format.",
    # Documents
    "document_unreadable": "The document cannot be read.",
    "document_password_protected": "The document is protected by a password. Save it without one and send it again.",
    "document_nothing_to_read": "There is no text in the document; it may be a scan.",
    "document_too_large": "The document is too large. Send a part of it.",
    "document_unsupported": "This kind of document is not read. Save it as PDF, DOCX or text.",
    "document_broken": "The document is damaged. Export or upload it again.",
    "model_busy": "The language model is busy. It is asked again by itself.",
    "model_throttled": "The language model takes only so many requests in a given time. It is asked again by itself.",
    "model_misconfigured": _NOT_YOURS,
    "model_refused": "The language model declines to analyse this document.",
    "answer_unusable": "The language model's answer could not be used.",
}


def meaning(code: str) -> str:
    """A sentence or two; a code without a text of its own is said to be unknown here."""
    return _MEANINGS.get(code, "The job ran into a problem that has no description here; its code is below.")
