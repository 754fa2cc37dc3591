"""A whole fit: every model of the settings is trained, and its documents are inferred again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from paravec import inference, training
from paravec.corpus import Corpus
from paravec.engines import engine_for
from paravec.engines.base import Tables
from paravec.model import Model
from paravec.settings import Settings
from paravec.vocab import Vocabulary


@dataclass
class Fitted:
    """What a fit makes: the models, their tables, and the loss of every epoch by the model's name."""

    models: list[Model] = field(default_factory=list)
    tables: list[Tables] = field(default_factory=list)
    losses: dict[str, list[float]] = field(default_factory=dict)


def fit_models(
    settings: Settings,
    vocabulary: Vocabulary,
    corpus: Corpus,
    seed: int,
    given: training.GivenWords | None = None,
    verbose: bool = False,
) -> Fitted:
    """Trains one model, or the halves of ``dm+dbow`` one after the other."""
    fitted = Fitted()
    for architecture in settings.architectures():
        tables = Tables.of(architecture, vocabulary, settings.sample)
        model = training.initial_model(
            architecture, vocabulary, tables, len(corpus), seed, given, settings.freeze_words
        )
        words = corpus.words_only(vocabulary) if architecture.is_dm else corpus
        report = _reporter(architecture.model, settings.epochs or 0) if verbose else None
        engine = engine_for(settings, training=True)
        fitted.losses[architecture.model] = training.train(engine, model, words, tables, settings, seed, report)
        if settings.refit_documents:
            model.documents = None  # makes room
            model.documents = inference.infer(engine_for(settings), model, vocabulary, tables, corpus, settings, seed)
        fitted.models.append(model)
        fitted.tables.append(tables)
    return fitted


def _reporter(name: str, epochs: int) -> Callable[[int, float, int], None]:
    began = time.perf_counter()

    def report(epoch: int, loss: float, targets: int) -> None:
        nonlocal began
        now = time.perf_counter()
        rate = targets / max(now - began, 1e-9) / 1e6
        print(f"{name} epoch {epoch + 1}/{epochs}: loss {loss:.4f}, {rate:.2f} M targets/s", file=sys.stderr)
        began = now

    return report
