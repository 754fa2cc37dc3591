"""paravec beside gensim on IMDB: training, inference, latency, the whole way from text to a model, and errors.

    python benchmarks/rival.py aclImdb.tar.xz            # everything; gensim's errors take hours
    python benchmarks/rival.py aclImdb.tar.xz --quick    # a tenth of the reviews, some minutes

Both get the same tokens (``paravec.words``), vocabulary (min_count 2), dimensions, windows, 5 noise words, no
sub-sampling, and as many threads. (paravec draws 5 noise words for a round of documents side by side, gensim for every
target.) The programs take turns, every reading runs in a process of its own, and medians of the rounds count. Rows go
to the results as they are found; ``--only`` and ``--models`` renew single ones, and ``tables.py`` makes tables and a
plot of them.

training    One epoch, without reading, counting and first vectors. gensim trains from memory and from a file
            (corpus_file); in every round the quicker one counts. The ratio is the median of those of the rounds, since
            the machine may change its speed from one to the next. Models train on 30,000 of the reviews, with the
            vocabulary and the document vectors of all. Memory is the peak of the whole process, from a file of tokens
            to a trained model, and that beyond corpus and vocabulary; paravec maps a corpus that it has encoded to a
            folder.
inference   The 25,000 test reviews by dbow with negative sampling, smallest dimension, on two threads; gensim in two
            processes, on the first 5,000 of them.
latency     One review of about 230 words a call, on one thread.
end_to_end  From a file of raw reviews to a saved model: start of Python, imports, tokens, training, saving. gensim
            gets its tokens by str.lower().split(): no tokens in Python are quicker, and they are fewer.
errors      Fitted on all training reviews; the 25,000 test reviews inferred; logistic regression on standardised
            vectors. The classifier learns from the vectors that a program has of the 25,000 labelled training reviews.
            paravec has its default learning rate. gensim has the best alpha of three by the error of 5,000 labelled
            reviews that are kept from the classifier and inferred; it infers with the same alpha in 20 epochs, and
            learns from memory, since it skips documents of a file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from beside.material import prepare
from beside.models import MODELS
from beside.parts import PARTS, Bench
from beside.readings import Results
from paravec.experiments.machine import described

FULL: dict[str, Any] = {
    "sample": None,
    "rounds": 3,
    "documents_inferred": 5_000,
    "seeds": [0, 1, 2],
    "alphas": [0.025, 0.05, 0.1],
    "out": Path(__file__).parent / "results" / "rival.json",
}
QUICK: dict[str, Any] = {
    "sample": 7_500,
    "rounds": 1,
    "documents_inferred": 500,
    "seeds": [0],
    "alphas": [0.05],
    "out": Path(__file__).parent / "results" / "rival-quick.json",
}


def options(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("archive", type=Path)
    add("--quick", action="store_true", help="a tenth of the reviews, one round; errors of dbow only")
    add("--only", nargs="+", choices=PARTS, default=list(PARTS))
    add("--models", nargs="+", choices=MODELS, default=list(MODELS))
    add("--dimensions", type=int, nargs="+", default=[100, 400])
    add("--rounds", type=int)
    add("--threads", type=int, default=2)
    add("--documents", type=int, help="reviews that training is timed on, 30,000 if left out")
    add("--documents-inferred", type=int, help="test reviews that gensim infers, 5,000 if left out")
    add("--calls", type=int, default=200, help="of latency, a round")
    add("--epochs", type=int, default=10, help="of the models that are judged, and end to end")
    add("--error-dimensions", type=int, nargs="+", default=[100])
    add("--seeds", type=int, nargs="*", help="of paravec's errors, 0 1 2 if left out; none if nothing follows")
    add("--gensim-seeds", type=int, nargs="*", default=[0], help="of gensim's")
    add("--alphas", type=float, nargs="+", help="learning rates of gensim to choose from; 0.025 0.05 0.1 if left out")
    add("--sample", type=int, help="so many training reviews, and a third as many test reviews, instead of all")
    add("--folder", help="where files are made for a while: 1 GB, and as much as the largest model")
    add("--out", type=Path)
    chosen = parser.parse_args(given)
    for name, value in (QUICK if chosen.quick else FULL).items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, value)
    if chosen.sample is not None and chosen.out == FULL["out"]:
        parser.error("--sample needs --out: results of some reviews are no results of all")
    return chosen


def main() -> None:
    chosen = options(sys.argv[1:])
    results = Results(chosen.out)
    results.tell(machine=described(), versions={name: version(name) for name in ("paravec", "gensim", "numpy")})
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        material = prepare(chosen.archive, Path(folder), chosen.sample)
        for name, part in PARTS.items():
            if name in chosen.only:
                part(Bench(material, chosen, results))


if __name__ == "__main__":
    main()
