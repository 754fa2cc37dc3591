"""From a file of texts to a saved model, with gensim: python whole_gensim.py TEXTS MODEL THREADS EPOCHS MODE.

Tokens are what is between spaces, lower-cased: the quickest that plain Python has, and fewer tokens than words and
punctuation apart.
"""

import sys
from pathlib import Path

from gensim.models.doc2vec import Doc2Vec, TaggedDocument
from memory import peak

if __name__ == "__main__":
    texts, model, threads, epochs, mode = sys.argv[1:]
    Path(model).mkdir()
    rival = Doc2Vec(dm=0, vector_size=100, negative=5, min_count=2, sample=0, workers=int(threads), epochs=int(epochs))
    with open(texts, encoding="utf-8", newline="\n") as file:
        if mode == "iterable":
            documents = [TaggedDocument(line.lower().split(), [i]) for i, line in enumerate(file)]
            rival.build_vocab(documents)
            rival.train(documents, total_examples=len(documents), epochs=rival.epochs)
        else:
            path = f"{model}/corpus.txt"
            with open(path, "w", encoding="utf-8", newline="\n") as corpus:
                corpus.writelines(map(str.lower, file))
            rival.build_vocab(corpus_file=path)
            counts = {"total_examples": rival.corpus_count, "total_words": rival.corpus_total_words}
            rival.train(corpus_file=path, **counts, epochs=rival.epochs)
    rival.save(f"{model}/model")
    print(peak())
