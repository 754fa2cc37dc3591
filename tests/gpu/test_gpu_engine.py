"""The estimator with engine='gpu', and what is said when it cannot work."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="engine='gpu' needs PyTorch: make test-triton")
pytest.importorskip("triton", reason="engine='gpu' needs Triton: make test-triton")

from conftest import documents, make_case
from paravec import DeviceError, NotEnoughMemoryError, ParagraphVector
from paravec.engines import gpu
from paravec.engines.gpu import GpuEngine, training

DOCS = documents((5, 8, 3, 9, 4, 6), words=12)


def fit(checkpoint=None, resume=False, callbacks=(), **settings):
    vector = ParagraphVector(**{"engine": "gpu", "vector_size": 4, "min_count": 1, "epochs": 2, **settings})
    return vector.fit(DOCS, checkpoint=checkpoint, resume=resume, callbacks=callbacks)


@pytest.mark.parametrize(
    "settings", [{}, {"model": "dm+dbow", "combine": "mean", "window": 3}, {"output": "softmax"}], ids=str
)
def test_a_model_of_one_engine_is_used_on_the_other(settings, tmp_path):
    fitted = fit(**settings)
    ours = fitted.transform(DOCS)
    fitted.save(tmp_path / "model")
    other = ParagraphVector.load(tmp_path / "model").set_params(engine="cpu")
    theirs = other.transform(DOCS)
    assert np.allclose(ours, theirs, atol=1e-3)
    assert np.array_equal(ours, fitted.document_vectors_)
    opened = ParagraphVector.load(tmp_path / "model")
    assert opened.engine == "auto"  # for machines without a GPU
    assert np.allclose(opened.transform(DOCS), ours, atol=1e-6)


def test_training_is_looked_at_and_scored(tmp_path):
    seen = []
    whole = fit(
        validation_fraction=0.3,
        callbacks=[lambda epoch: seen.append((epoch.loss, epoch.validation_loss, epoch.transform(DOCS[:1])))],
        checkpoint=tmp_path / "point",
        checkpoint_every=1,
        output="hs",
        patience=3,
    )
    assert len(seen) == 2
    assert all(np.isfinite(loss) and np.isfinite(score) for loss, score, _ in seen)
    assert not np.array_equal(seen[0][2], seen[1][2])  # the callback sees the parameters of its epoch
    assert whole.loss_history_["dbow"] == [loss for loss, _, _ in seen]


def test_the_best_epoch_is_kept_though_the_device_has_a_later_one():
    seen = []
    found = fit(
        validation_fraction=0.4,
        patience=2,
        epochs=8,
        learning_rate=0.5,
        callbacks=[lambda epoch: seen.append((epoch.validation_loss, epoch.transform(DOCS)))],
    )
    best = int(np.argmin([loss for loss, _ in seen]))
    assert best < len(seen) - 1
    assert np.array_equal(found.transform(DOCS), seen[best][1])


def test_going_on_from_a_checkpoint(tmp_path):
    class EnoughError(Exception):
        pass

    def stop(epoch):
        if epoch.epoch == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        fit(checkpoint=tmp_path / "point", checkpoint_every=1, callbacks=[stop], epochs=3)
    found = fit(checkpoint=tmp_path / "point", checkpoint_every=1, resume=True, epochs=3)
    assert len(found.loss_history_["dbow"]) == 3
    assert np.allclose(found.document_vectors_, fit(epochs=3).document_vectors_, atol=1e-4)


def test_too_little_room_is_refused_before_any_work():
    case = make_case()
    with pytest.raises(NotEnoughMemoryError, match=r"GPU has 0\.00 GB free.*lower vector_size.*streamed"):
        GpuEngine(room=1000).train(case.model, case.corpus, case.tables, case.work())


@pytest.mark.parametrize(
    ("raised", "error", "words"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried\n to allocate"),
            NotEnoughMemoryError,
            "has no room left",
        ),
        (RuntimeError("CUDA error: unspecified launch failure"), DeviceError, "but for what a checkpoint has.*resume"),
    ],
)
def test_a_device_that_fails_is_told_in_words(monkeypatch, tmp_path, raised, error, words):
    """Faults that cannot be provoked: memory that others take, a device that is lost."""
    calls = []

    def fails_the_second_time(*given):
        calls.append(given)
        if len(calls) > 1:
            raise raised
        return training.train_documents(*given)

    monkeypatch.setattr(gpu, "train_documents", fails_the_second_time)
    with pytest.raises(error, match=words):
        fit(checkpoint=tmp_path / "point", checkpoint_every=1)
    monkeypatch.undo()
    assert len(fit(checkpoint=tmp_path / "point", checkpoint_every=1, resume=True).loss_history_["dbow"]) == 2


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="no word of it"), gpu._told():
        raise RuntimeError("no word of it")
