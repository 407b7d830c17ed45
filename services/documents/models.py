"""What is known about each model: how much it is given to read, and what it costs.

Source: https://platform.claude.com/docs/en/about-claude/pricing, read in November 2026.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

# Models with a window of a million tokens would take more, at dollars and minutes for each document.
_ENOUGH_TOKENS = 200_000
# English prose has about four bytes a token and dense figures two; counting two keeps the prompt within the window.
_BYTES_PER_TOKEN = 2
_PER_MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Model:
    """`prompt_tokens` bounds what is sent; prices are US dollars for a million tokens, None if not known."""

    prompt_tokens: int
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    # Whether it takes the `effort` setting; without it these models think long over a simple task.
    takes_effort: bool = False

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """US dollars for one call, or None when no price is known."""
        if self.input_price is None or self.output_price is None:
            return None
        spent = input_tokens * self.input_price + output_tokens * self.output_price
        return spent / _PER_MILLION

    def cut(self, text: str) -> str:
        """As much of the beginning of `text` as fits the prompt."""
        data = text.encode()
        most = self.prompt_tokens * _BYTES_PER_TOKEN
        return text if len(data) <= most else data[:most].decode("utf-8", "ignore")


_MODELS = {
    "claude-sonnet-5-5": Model(_ENOUGH_TOKENS, Decimal(2), Decimal(10), takes_effort=True),
    "claude-opus-5-5": Model(_ENOUGH_TOKENS, Decimal(4), Decimal(20), takes_effort=True),
    # Above 100,000 tokens of prompt every token of the call costs five times as much.
    "claude-haiku-5-5": Model(95_000, Decimal("0.10"), Decimal("0.50"), takes_effort=True),
    "claude-sonnet-4-6": Model(_ENOUGH_TOKENS, Decimal(3), Decimal(15), takes_effort=True),
    # Their windows of 200,000 tokens hold the answer too.
    "claude-sonnet-4-5": Model(185_000, Decimal(3), Decimal(15)),
    "claude-haiku-4-5": Model(185_000, Decimal(1), Decimal(5)),
}
# The smallest window of any model on offer.
_UNKNOWN = Model(185_000)


def model_named(name: str) -> Model:
    """The model with this id, dated (`…-20251001`) or not; an unknown id gets the smallest window and no price."""
    return _MODELS.get(re.sub(r"-\d{8}$", "", name), _UNKNOWN)
