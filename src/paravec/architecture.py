"""What one model computes: dbow or dm, and the sizes of its parts."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Architecture:
    """What one model computes: dbow or dm, with the sizes of its parts. ``dm+dbow`` is two of these."""

    model: str
    vector_size: int
    word_size: int
    window: int
    context: str
    combine: str
    pad: str
    output: str
    negative: int
    logit: str
    cosine_scale: float
    batch_size: int
    train_words: bool
    draw_errors: bool
    half: bool  # with drawn errors: whether numbers of U have 16 bits while they are trained

    @property
    def is_dm(self) -> bool:
        """Whether context words help the document to predict."""
        return self.model == "dm"

    @property
    def by_ways(self) -> bool:
        """Whether targets of one document are learned together, whose ways through the tree have nodes in common."""
        return self.model == "dbow" and self.output == "hs" and not self.train_words

    @property
    def has_words(self) -> bool:
        """Whether there are word vectors W."""
        return self.is_dm or self.train_words

    @property
    def has_bias(self) -> bool:
        """Whether the output has a bias b."""
        return self.output != "negative" and self.logit == "dot"

    @property
    def slots(self) -> int:
        """How many context words a full window has."""
        if not self.has_words:
            return 0
        return (self.window - 1) * (2 if self.context == "both" else 1)

    @property
    def width(self) -> int:
        """The length of h, and of a row of U."""
        if self.is_dm and self.combine == "concat":
            return self.vector_size + self.slots * self.word_size
        return self.vector_size

    @property
    def shortest_divided(self) -> int:
        """The length from which a document has words to predict both at even and at odd positions."""
        if not self.is_dm or self.pad == "all":
            return 2
        return 2 * self.window if self.context == "both" else self.window + 1

    def alone(self) -> Architecture:
        """A dm model without its words: what predicts is the document alone, as in dbow."""
        return replace(self, model="dbow", draw_errors=False, half=False)

    def n_outputs(self, n_targets: int) -> int:
        """The rows of U: one a target, or one an inner node of the tree over them."""
        return n_targets - (self.output == "hs")

    @property
    def share(self) -> float:
        """The part of h that the document has in a full window: what `infer_l2` is measured by."""
        return 1 / (1 + self.slots) if self.is_dm and self.combine == "mean" else 1.0

    @property
    def learning_rate(self) -> float:
        """The default learning rate of this combination."""
        # Chosen on validation data, for longer vectors by the training loss: docs/inference.md. What concat and sum put
        # into h grows with the window, and the rate that stays stable falls; the mean of more vectors is shorter, and
        # more is needed.
        if self.logit == "cosine":
            return 0.001
        if not self.is_dm:
            rate = 0.07 if self.output == "negative" else 0.1
        elif self.combine == "mean":
            rate = min(max(0.3, 0.03 * (1 + self.slots)), 0.6)
        elif self.combine == "concat":
            rate = min(0.5 / (1 + self.slots), 0.1)
        else:
            rate = min(0.5 / (1 + self.slots), 0.05)
        if self.is_dm:
            rate *= min(1.0, (100 / self.word_size) ** 0.5)  # longer vectors grow longer in both ways
        return rate / 2 if self.output == "softmax" else rate  # the targets of a batch add up
