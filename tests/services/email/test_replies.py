"""The table of replies: what each answer means at each stage."""

import pytest

from services.email.errors import (
    AddressRejected,
    DeliveryUnknown,
    MailerMisconfigured,
    MailerUnavailable,
    MessageRejected,
)
from services.email.replies import Stage, refused, unanswered

BEFORE_MAIL = [Stage.BANNER, Stage.EHLO, Stage.STARTTLS, Stage.AUTH]


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("code", [421, 450, 451, 452, 454])
def test_4yz_means_later_at_every_stage(stage: Stage, code: int) -> None:
    assert type(refused(stage, code, b"")) is MailerUnavailable


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("code", [530, 534, 535, 538])
def test_a_refused_login_is_ours_at_every_stage(stage: Stage, code: int) -> None:
    assert type(refused(stage, code, b"")) is MailerMisconfigured


@pytest.mark.parametrize("stage", BEFORE_MAIL)
@pytest.mark.parametrize("code", [500, 504, 550, 554])
def test_5yz_before_any_message_is_ours(stage: Stage, code: int) -> None:
    assert type(refused(stage, code, b"")) is MailerMisconfigured


@pytest.mark.parametrize("code", [550, 551, 552, 553, 554, 556])
def test_5yz_to_the_recipient_rejects_the_address(code: int) -> None:
    assert type(refused(Stage.RCPT, code, b"")) is AddressRejected


@pytest.mark.parametrize("stage", [Stage.MAIL, Stage.DATA, Stage.DOT])
@pytest.mark.parametrize("code", [550, 552, 553, 554])
def test_5yz_to_the_message_rejects_the_message(stage: Stage, code: int) -> None:
    assert type(refused(stage, code, b"")) is MessageRejected


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.DOT])
@pytest.mark.parametrize("code", [-1, 0, 199, 250, 354, 600])
def test_an_answer_out_of_turn_before_the_dot_means_later(stage: Stage, code: int) -> None:
    assert type(refused(stage, code, b"")) is MailerUnavailable


@pytest.mark.parametrize("code", [-1, 0, 354])
def test_an_answer_out_of_turn_after_the_dot_leaves_the_outcome_unknown(code: int) -> None:
    assert type(refused(Stage.DOT, code, b"")) is DeliveryUnknown


@pytest.mark.parametrize("stage", list(Stage))
def test_silence_is_an_unknown_outcome_only_after_the_dot(stage: Stage) -> None:
    expected = DeliveryUnknown if stage is Stage.DOT else MailerUnavailable
    assert type(unanswered(stage)) is expected


def test_only_the_numbers_of_a_reply_are_kept() -> None:
    error = refused(Stage.RCPT, 550, b"5.1.1 <ada@example.test> is unknown here")
    assert str(error) == "the mail server answered 550 5.1.1 to RCPT TO"


def test_a_reply_without_an_enhanced_code_is_named_by_its_code() -> None:
    assert str(refused(Stage.RCPT, 550, b"ada is unknown")) == "the mail server answered 550 to RCPT TO"
