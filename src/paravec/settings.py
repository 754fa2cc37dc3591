"""Every hyper-parameter: named, typed, checked once, frozen."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any

from paravec.architecture import Architecture
from paravec.text import TOKENIZERS, Tokenizer

CHOICES: dict[str, tuple[str | None, ...]] = {
    "model": ("dbow", "dm", "dm+dbow"),
    "context": ("left", "both"),
    "combine": ("concat", "mean", "sum"),
    "pad": ("all", "short"),
    "output": ("negative", "hs", "softmax"),
    "logit": ("dot", "cosine"),
    "engine": ("cpu", "gpu", "auto", "reference"),
    "storage": (None, "float32", "bfloat16"),
    "infer_noise": ("common", "own"),
}
# settings of models that were saved before there was a choice
WIDE = 256  # numbers of a vector, from which on dm with the mean or the sum and the tree draws errors
BEFORE = {"infer_noise": "own", "draw_errors": False, "storage": "float32", "infer_context": True}
RENAMED = {"gpu_storage": "storage"}


def threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` means: None for one, -1 for all cores, -2 for all but one."""
    if n_jobs is None:
        return 1
    if n_jobs > 0:
        return n_jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs)


def _setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Encoding:
    """How documents become token ids: what a corpus is encoded by, and part of a model's settings."""

    tokenizer: str | Tokenizer = _setting("words", "words or whitespace")
    lowercase: bool | None = _setting(None, "lower-case the text; if left out, words does and whitespace does not")
    strip_tags: bool = _setting(False, "leave HTML tags out of the text")
    min_count: int = _setting(2, "how often a word must occur")
    max_vocab: int | None = _setting(None, "how many words are kept at most")
    ngrams: int = _setting(1, "dbow also predicts n-grams up to this length")
    ngram_min_count: int | None = _setting(None, "how often an n-gram must occur; as min_count if left out")
    max_unique: int = _setting(10_000_000, "different words held while counting; beyond, the rarest are forgotten")
    n_jobs: int | None = _setting(None, "threads; -1 for all cores")

    def __post_init__(self) -> None:
        """Refuses what is wrong."""
        for each in fields(self):
            object.__setattr__(self, each.name, _plain(getattr(self, each.name)))
        self._check_encoding()

    @property
    def ngram_floor(self) -> int:
        """How often an n-gram must occur: as often as a word unless said otherwise."""
        return self.min_count if self.ngram_min_count is None else self.ngram_min_count

    @property
    def lowers(self) -> bool:
        """Whether text is lower-cased."""
        return self.tokenizer == "words" if self.lowercase is None else self.lowercase

    @property
    def encoding(self) -> Encoding:
        """These settings without those of a model."""
        return Encoding(**{each.name: getattr(self, each.name) for each in fields(Encoding)})

    def as_dict(self) -> dict[str, Any]:
        """Every setting as JSON can hold it; a tokenizer of one's own becomes None."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if not isinstance(self.tokenizer, str):
            values["tokenizer"] = None
        return values

    def _check_encoding(self) -> None:
        for name in ("min_count", "ngrams"):
            _integer(name, getattr(self, name), 1)
        _integer("max_unique", self.max_unique, 4)
        for name, least in (("max_vocab", 2), ("ngram_min_count", 1)):
            if getattr(self, name) is not None:
                _integer(name, getattr(self, name), least)
        if self.ngrams > 16:
            raise ValueError(f"ngrams={self.ngrams} is beyond any use; use ngrams <= 16")
        if self.lowercase is not None:
            _truth("lowercase", self.lowercase)
        _truth("strip_tags", self.strip_tags)
        if self.n_jobs is not None:
            _integer("n_jobs", self.n_jobs, -(2**31))
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 leaves no thread to work; use n_jobs >= 1, or -1 for all cores")
            if self.n_jobs > 65_536:
                raise ValueError(f"n_jobs={self.n_jobs} is beyond any use; use n_jobs <= 65536, or -1 for all cores")
        if isinstance(self.tokenizer, str) and self.tokenizer in TOKENIZERS:
            return
        if not callable(self.tokenizer):
            names = ", ".join(map(repr, TOKENIZERS))
            raise ValueError(f"tokenizer={self.tokenizer!r} is not one of {names}, and not callable")
        for name in ("lowercase", "strip_tags"):
            if getattr(self, name):
                raise ValueError(f"{name}=True is for the built-in tokenizers; let your own tokenizer do it")


@dataclass(frozen=True)
class Settings(Encoding):
    """All settings of a :class:`paravec.ParagraphVector`, which documents them one by one.

    >>> Settings(model="dm", window=1)
    Traceback (most recent call last):
    ...
    ValueError: window=1 leaves no context for model='dm'; use window >= 2
    """

    model: str = _setting("dbow", "dbow, dm, or dm+dbow (both, side by side)")
    vector_size: int = _setting(100, "length of a document vector")
    word_size: int | None = _setting(None, "length of a word vector with combine concat; as vector_size if left out")
    window: int = _setting(10, "the predicted word and the words of context before it")
    context: str = _setting("left", "where context words stand: left or both")
    combine: str = _setting("concat", "how dm puts document and words together: concat, mean or sum")
    pad: str = _setting("all", "all: predict every word; short: only those with a full window")
    output: str = _setting("negative", "negative, hs (Huffman tree) or softmax (exact)")
    negative: int = _setting(5, "noise words for each target")
    logit: str = _setting("dot", "dot or cosine")
    cosine_scale: float = _setting(6.0, "what the cosine is multiplied by")
    batch_size: int | None = _setting(
        None, "documents side by side, with common noise words; of softmax: targets of a step; dbow with hs has none"
    )
    train_words: bool = _setting(False, "train skip-gram word vectors beside dbow")
    freeze_words: bool = _setting(False, "keep given word vectors as they are")
    draw_errors: bool | None = _setting(
        None, "dm learns from errors rounded at random to 0 or 1; if left out, with concat, or hs and wide vectors"
    )
    sample: float = _setting(0.0, "threshold of sub-sampling of frequent words; 0 for none")
    epochs: int | None = _setting(None, "passes over the corpus; if left out 10, and up to 50 for a small one")
    learning_rate: float | None = _setting(None, "at the first step; the default of the combination if left out")
    min_learning_rate: float | None = _setting(None, "at the last step; 0.0001 at most if left out")
    deterministic: bool = _setting(False, "bit-identical results at any number of threads")
    engine: str = _setting("cpu", "cpu, gpu, auto (gpu if there is one), or reference")
    storage: str | None = _setting(
        None, "float32 or bfloat16: of U in training, on a gpu of W too; if left out bfloat16 for dm concat on the cpu"
    )
    infer_tol: float = _setting(0.001, "how far the gradient must fall in inference, as a part of what it is at zero")
    infer_max_iter: int = _setting(100, "steps of inference at most")
    infer_l2: float = _setting(5.0, "weight of the squared length of a vector in inference")
    infer_noise: str = _setting("common", "noise words in inference: common to all documents, or each its own")
    infer_context: bool | None = _setting(
        None, "dm: the words around a target help to predict it in inference too; if left out, only with logit cosine"
    )
    refit_documents: bool = _setting(True, "infer the training documents too after training")
    validation_fraction: float | None = _setting(None, "hold so many documents out, and score them every epoch")
    patience: int | None = _setting(None, "stop after so many epochs without a better score of the held-out documents")
    stop_tol: float = _setting(0.0001, "how much better a score must be, as a part of it")
    checkpoint_every: int | str | None = _setting(None, "epochs, or time (10min), after which a checkpoint is written")

    def __post_init__(self) -> None:
        """Refuses what is wrong in itself, then what does not go together."""
        super().__post_init__()
        self._check_each()
        self._check_sizes()
        self._check_outputs()
        self._check_words()
        self._check_rates()
        self._check_validation()

    def adopting(self, corpus: Encoding) -> Settings:
        """These settings for a corpus that is encoded already: its encoding stands, and nothing may contradict it."""
        theirs: dict[str, Any] = {}
        for each in fields(Encoding):
            mine, its = getattr(self, each.name), getattr(corpus, each.name)
            if each.name in ("n_jobs", "max_unique") or (each.name == "tokenizer" and callable(mine) and callable(its)):
                continue
            if mine not in (each.default, its):
                raise ValueError(
                    f"{each.name}={mine!r}, but the corpus was encoded with {each.name}={its!r}; leave it out, or "
                    f"encode the corpus again"
                )
            if each.name != "ngrams" or self.model != "dm":  # which leaves n-grams aside
                theirs[each.name] = its
        return replace(self, **theirs)

    def architectures(self) -> tuple[Architecture, ...]:
        """The models to train: one, or the dm and the dbow half of ``dm+dbow``."""
        return tuple(self._architecture(model) for model in self.model.split("+"))

    def rate(self, architecture: Architecture) -> float:
        """The learning rate at the first step."""
        return architecture.learning_rate if self.learning_rate is None else self.learning_rate

    def last_rate(self, architecture: Architecture) -> float:
        """The learning rate at the last step."""
        return min(0.0001, self.rate(architecture)) if self.min_learning_rate is None else self.min_learning_rate

    @property
    def checkpoint_epochs(self) -> int | None:
        """After how many epochs a checkpoint is due; None if that is told by the time, or none is wanted."""
        return self.checkpoint_every if isinstance(self.checkpoint_every, int) else None

    @property
    def checkpoint_seconds(self) -> float | None:
        """After how many seconds a checkpoint is due; None if that is told by epochs, or none is wanted."""
        return _seconds(self.checkpoint_every) if isinstance(self.checkpoint_every, str) else None

    def infers_alone(self, architecture: Architecture) -> bool:
        """Whether a dm model infers documents without the words around its targets."""
        with_context = self.logit == "cosine" if self.infer_context is None else self.infer_context
        return architecture.is_dm and not with_context

    def with_epochs(self, n_tokens: int) -> Settings:
        """These settings with the number of epochs settled: small corpora are visited more often, at little cost."""
        if self.epochs is not None:
            return self
        return replace(self, epochs=min(max(10, 5_000_000 // max(1, n_tokens)), 50))

    def _architecture(self, model: str) -> Architecture:
        free_size = model == "dm" and self.combine == "concat" and self.word_size is not None
        return Architecture(
            model=model,
            vector_size=self.vector_size,
            word_size=self.word_size if free_size and self.word_size is not None else self.vector_size,
            window=self.window,
            context=self.context,
            combine=self.combine,
            pad=self.pad,
            output=self.output,
            negative=self.negative if self.output == "negative" else 0,
            logit=self.logit,
            cosine_scale=self.cosine_scale,
            batch_size=self.batch_size or self._side_by_side(model),
            train_words=self.train_words and model == "dbow",
            draw_errors=self._draws_errors(model),
            half=self._halves(model),
        )

    def _side_by_side(self, model: str) -> int:
        # chosen by errors and speed: docs/performance.md
        if model == "dbow" or self.output == "softmax" or (self.output == "negative" and self.combine == "concat"):
            return 16
        return 4 if self.output == "negative" else 2

    def _draws_errors(self, model: str) -> bool:
        if model != "dm" or not self._may_draw_errors:
            return False
        return self._has_wide_rows if self.draw_errors is None else self.draw_errors

    def _halves(self, model: str) -> bool:
        return self._draws_errors(model) and self._has_wide_rows and self.storage != "float32"

    @property
    def _has_wide_rows(self) -> bool:
        """Whether a step of dm has so many numbers of U to read that it pays to spare some."""
        return self.combine == "concat" or (self.output == "hs" and self.vector_size >= WIDE)

    @property
    def _may_draw_errors(self) -> bool:
        return self.output != "softmax" and self.logit == "dot"

    def _check_each(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}")
        for name in ("vector_size", "window", "infer_max_iter"):
            _integer(name, getattr(self, name), 1)
        for name in ("word_size", "epochs", "batch_size"):
            if getattr(self, name) is not None:
                _integer(name, getattr(self, name), 1)
        for name in ("train_words", "freeze_words", "deterministic", "refit_documents"):
            _truth(name, getattr(self, name))
        _integer("negative", self.negative, 0)
        _number("cosine_scale", self.cosine_scale, positive=True)
        _number("sample", self.sample)
        _number("infer_tol", self.infer_tol, positive=True)
        _number("infer_l2", self.infer_l2, positive=True)  # without it, the best vector of a short text is infinite
        for name, most in (("window", 10_000), ("batch_size", 65_536)):
            if (getattr(self, name) or 0) > most:
                raise ValueError(f"{name}={getattr(self, name)} is beyond any use; use {name} <= {most}")

    def _check_sizes(self) -> None:
        has_dm = "dm" in self.model.split("+")
        if has_dm and self.window < 2:
            raise ValueError(f"window={self.window} leaves no context for model={self.model!r}; use window >= 2")
        if self.train_words and self.window < 2:
            raise ValueError(f"window={self.window} leaves no context for train_words=True; use window >= 2")
        if self.word_size is not None and self.word_size != self.vector_size:
            if not has_dm:
                raise ValueError(
                    f"word_size={self.word_size} has no meaning for model='dbow', whose word vectors "
                    f"(train_words=True) are as long as its document vectors; leave it out"
                )
            if self.combine != "concat":
                raise ValueError(
                    f"combine={self.combine!r} adds word vectors to document vectors, so word_size={self.word_size} "
                    f"must equal vector_size={self.vector_size}; leave word_size out, or use combine='concat'"
                )
        if self.ngrams > 1 and self.model == "dm":
            raise ValueError(
                f"ngrams={self.ngrams} has no meaning for model='dm', which predicts the next word; "
                f"use model='dbow' or 'dm+dbow'"
            )

    def _check_outputs(self) -> None:
        if self.output == "negative" and not 1 <= self.negative <= 1000:
            raise ValueError(f"negative={self.negative} noise words for output='negative'; use 1 to 1000, often 5")
        if self.train_words and self.output == "negative" and (1 + 2 * self.window) * self.negative > 100_000:
            raise ValueError(f"window={self.window} times negative={self.negative} is too large; lower one of them")
        if self.logit == "cosine" and self.output == "hs":
            raise ValueError(
                "logit='cosine' has no meaning with output='hs', whose nodes are no words to be near to; "
                "use output='negative' or 'softmax', or logit='dot'"
            )
        if self.draw_errors is not None:
            _truth("draw_errors", self.draw_errors)
        if self.draw_errors and self.model == "dbow":
            raise ValueError("draw_errors=True is for model='dm' and 'dm+dbow'; leave it out")
        if self.draw_errors and self.engine == "gpu":
            raise ValueError("draw_errors=True is for the processor: it would spare a GPU nothing; leave it out")
        if self.draw_errors and not self._may_draw_errors:
            raise ValueError(
                f"draw_errors=True is for output='negative' or 'hs' with logit='dot', not for output={self.output!r} "
                f"with logit={self.logit!r}; leave it out"
            )
        if self.infer_context is not None:
            _truth("infer_context", self.infer_context)
            if not self.infer_context and self.model == "dbow":
                raise ValueError("infer_context=False is for model='dm' and 'dm+dbow'; leave it out")
            if not self.infer_context and self.logit == "cosine":
                raise ValueError("infer_context=False is for logit='dot', not for logit='cosine'; leave it out")
        if self.storage == "bfloat16" and self.output == "softmax":
            raise ValueError(
                "storage='bfloat16' is for output='negative' and 'hs': the exact softmax changes every row at "
                "every step, by less than such numbers can tell; leave it out"
            )

    def _check_words(self) -> None:
        if self.train_words and self.model == "dm":
            raise ValueError("train_words=True is for 'dbow'; model='dm' always trains word vectors; leave it out")
        if self.freeze_words and not self.uses_words:
            raise ValueError(
                "freeze_words=True has no meaning for model='dbow' without word vectors; use train_words=True"
            )

    @property
    def uses_words(self) -> bool:
        """Whether any of the models has word vectors."""
        return any(architecture.has_words for architecture in self.architectures())

    def _check_rates(self) -> None:
        if self.learning_rate is not None:
            _number("learning_rate", self.learning_rate, positive=True)
        if self.min_learning_rate is None:
            return
        _number("min_learning_rate", self.min_learning_rate)
        for architecture in self.architectures():
            if self.min_learning_rate > self.rate(architecture):
                raise ValueError(
                    f"min_learning_rate={self.min_learning_rate} is above the learning rate {self.rate(architecture)} "
                    f"of model={architecture.model!r}; lower it"
                )

    def _check_validation(self) -> None:
        _number("stop_tol", self.stop_tol)
        if isinstance(self.checkpoint_every, str):
            _seconds(self.checkpoint_every)
        elif self.checkpoint_every is not None:
            _integer("checkpoint_every", self.checkpoint_every, 1)
        if self.patience is not None:
            _integer("patience", self.patience, 1)
            if self.validation_fraction is None:
                raise ValueError(
                    f"patience={self.patience} needs documents that are held out; set validation_fraction, 0.05 say"
                )
        if self.validation_fraction is None:
            return
        _number("validation_fraction", self.validation_fraction)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} is out of range; use 0 < validation_fraction < 1"
            )
        if not self.refit_documents:
            raise ValueError(
                "validation_fraction needs refit_documents=True: documents that are held out have inferred vectors only"
            )


_UNITS = {"s": 1, "min": 60, "h": 3600}


def _seconds(text: str) -> float:
    """The seconds of a time as people write it: 90s, 10min, 1.5h."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(s|min|h)", text, re.ASCII)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"checkpoint_every={text!r} is neither a number of epochs nor a time such as '10min' or '2h'")
    return float(found[1]) * _UNITS[found[2]]


def _plain(value: Any) -> Any:
    """Numbers and truth values of NumPy's, fractions and the like as Python's own; no NumPy is needed to tell."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    return float(value) if isinstance(value, Real) and not isinstance(value, (Integral, float)) else value


def _integer(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not a whole number")
    value = int(value)
    if value < least:
        raise ValueError(f"{name}={value} is too small; use {name} >= {least}")
    if value > 2**31 - 1:
        raise ValueError(f"{name}={value} is too large; use {name} < 2**31")


def _truth(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is neither True nor False")


def _number(name: str, value: Any, positive: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number")
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name}={value} is out of range; use a finite number {'>' if positive else '>='} 0")
