"""The estimator with engine='gpu', and what is said when it cannot work."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="engine='gpu' needs PyTorch: make test-triton")
pytest.importorskip("triton", reason="engine='gpu' needs Triton: make test-triton")

from triton.runtime.errors import OutOfResources

from conftest import documents, make_case
from paravec import DeviceError, NotEnoughMemoryError, ParagraphVector
from paravec.engines import gpu
from paravec.engines.devices import interpreted
from paravec.engines.gpu import GpuEngine, held, training

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

    settings = {"checkpoint_every": 1, "epochs": 3, "deterministic": True}
    with pytest.raises(EnoughError):
        fit(checkpoint=tmp_path / "point", callbacks=[stop], **settings)
    found = fit(checkpoint=tmp_path / "point", resume=True, **settings)
    assert len(found.loss_history_["dbow"]) == 3
    whole = fit(checkpoint=tmp_path / "another", **settings)
    assert np.array_equal(found.document_vectors_, whole.document_vectors_)


@pytest.mark.parametrize(
    ("docs", "settings", "room", "words"),
    [
        (DOCS, {"vector_size": 400}, 16_000, r"GPU has 0\.0 MB free.*lower vector_size \(to about \d\d\d\), or use"),
        (DOCS, {}, 0, "max_vocab, or lower vector_size, or use engine='cpu'"),
        (
            DOCS,
            {"output": "softmax", "batch_size": 9000},
            100_000,
            "logits of batch_size=9000 .*; lower batch_size",
        ),
        ([["a", "b"] * 50_000], {}, 1_000_000, "for the longest document; divide documents that are so long, or use"),
    ],
    ids=["weights", "nothing", "logits", "document"],
)
def test_too_little_room_is_refused_before_any_work(docs, settings, room, words):
    case = make_case(docs, **settings)
    before = case.model.outputs.copy()
    with pytest.raises(NotEnoughMemoryError, match=words):
        GpuEngine(room=room).train(case.model, case.corpus, case.tables, case.work())
    assert np.array_equal(case.model.outputs, before)


def test_a_smaller_vector_size_that_is_advised_fits():
    case = make_case(DOCS, vector_size=400)
    with pytest.raises(NotEnoughMemoryError) as told:
        GpuEngine(room=20_000).train(case.model, case.corpus, case.tables, case.work())
    advised = int(re.search(r"to about (\d+)", str(told.value))[1])
    smaller = make_case(DOCS, vector_size=advised)
    assert GpuEngine(room=20_000).train(smaller.model, smaller.corpus, smaller.tables, smaller.work()).targets


def test_a_softmax_of_cosines_takes_three_logits_for_each_word_and_target():
    if interpreted():
        pytest.skip("how much memory is taken at once is told by a GPU only")
    case = make_case(documents([40] * 60, words=3000), output="softmax", logit="cosine", batch_size=1024)
    engine = GpuEngine()
    engine.train(case.model, case.corpus, case.tables, case.work())
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    engine.train(case.model, case.corpus, case.tables, case.work(1))
    logits = held.bytes_of_logits(case.model.architecture, case.tables)
    assert torch.cuda.max_memory_allocated() - before < 1.4 * logits


@pytest.mark.parametrize(
    ("raised", "error", "words"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried\n to allocate"),
            NotEnoughMemoryError,
            "has no room left",
        ),
        (RuntimeError("CUDA error: unspecified launch failure"), DeviceError, "but for what a checkpoint has.*resume"),
        (OutOfResources(300_000, 200_000, "shared memory"), DeviceError, "no kernel for this GPU and these settings"),
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


def in_a_process(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, timeout=300)


FIT = """
    import os, signal, sys, torch
    sys.path.insert(0, {tests!r})
    from conftest import documents
    from paravec import DeviceError, ParagraphVector

    def stop(epoch):
        if epoch.epoch == 2:
            {how}

    vector = ParagraphVector(engine="gpu", vector_size=20, epochs=4, min_count=1, checkpoint_every=1)
    try:
        vector.fit(documents([50] * 300), checkpoint={point!r}, resume={resume}, callbacks=[stop])
    except DeviceError as error:
        print("DeviceError:", error)
    else:
        print("epochs:", len(vector.loss_history_["dbow"]))
"""
LOSE = "torch.zeros(1, device='cuda')[torch.tensor([1 << 20], device='cuda')]"


@pytest.mark.gpu
@pytest.mark.parametrize("how", [LOSE, "os.kill(os.getpid(), signal.SIGKILL)"], ids=["lost", "killed"])
def test_a_real_device_is_lost_or_its_process_killed_and_the_checkpoint_remains(how, tmp_path):
    given = {"tests": str(Path(__file__).parents[1]), "point": str(tmp_path / "point")}
    first = in_a_process(FIT.format(**given, how=how, resume=False))
    if how == LOSE:
        assert "DeviceError: the GPU failed" in first.stdout, first.stderr
        assert "checkpoint" in first.stdout
    else:
        assert first.returncode == -signal.SIGKILL
    assert "epochs" not in first.stdout
    then = in_a_process(FIT.format(**given, how="pass", resume=True))
    assert "epochs: 4" in then.stdout, then.stderr


def test_storage_of_16_bits_is_a_choice_for_any_model_on_a_gpu(tmp_path):
    found = fit(storage="bfloat16")
    outputs = found._fitted.models[0].outputs
    assert outputs.any()
    assert not (outputs.copy().view(np.uint32) & 0xFFFF).any()
    found.save(tmp_path / "model")
    opened = ParagraphVector.load(tmp_path / "model").set_params(engine="cpu")
    assert np.allclose(opened.transform(DOCS), found.transform(DOCS), atol=1e-3)
    with pytest.raises(ValueError, match=r"storage='bfloat16' is for engine='gpu'.*not for engine='cpu'"):
        fit(storage="bfloat16", engine="cpu")


def test_a_fit_with_16_bits_goes_on_without_a_gpu(tmp_path):
    class EnoughError(Exception):
        pass

    def stop(epoch):
        raise EnoughError

    given = {"checkpoint": tmp_path / "point", "checkpoint_every": 1}
    with pytest.raises(EnoughError):
        fit(storage="bfloat16", epochs=3, callbacks=[lambda epoch: epoch.epoch == 2 and stop(epoch)], **given)
    assert len(fit(engine="cpu", epochs=3, resume=True, **given).loss_history_["dbow"]) == 3


def test_parameters_stay_on_the_device_between_calls(monkeypatch):
    fitted, copied = fit(), []
    of = gpu.Parameters.of
    monkeypatch.setattr(gpu.Parameters, "of", lambda *given, **more: copied.append(0) or of(*given, **more))
    first = fitted.transform(DOCS)
    assert np.array_equal(fitted.transform(DOCS), first)
    assert len(copied) == 1
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(DOCS), first)
    fitted.set_params(infer_l2=50.0)
    assert not np.array_equal(fitted.transform(DOCS), first)
    assert len(copied) == 3
    both = fit(model="dm+dbow", combine="mean", window=3)
    both.transform(DOCS)
    seen = len(copied)
    both.transform(DOCS)
    assert len(copied) == seen
    again = both.fit(DOCS[:3])
    assert len(again.transform(DOCS)) == len(DOCS)


def test_an_epoch_that_is_kept_shows_the_parameters_as_they_are_now():
    kept, seen = [], []

    def look(epoch):
        kept.append(epoch)
        seen.append(kept[0].transform(DOCS))

    fit(callbacks=[look])
    assert not np.array_equal(seen[0], seen[1])


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="no word of it"), gpu._told():
        raise RuntimeError("no word of it")
