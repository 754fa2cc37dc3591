"""From a file of texts to a saved model, with paravec: python whole_paravec.py TEXTS MODEL THREADS EPOCHS REFIT."""

import sys

from memory import peak

import paravec

if __name__ == "__main__":
    texts, model, threads, epochs, refit = sys.argv[1:]
    fitted = paravec.ParagraphVector(
        vector_size=100, epochs=int(epochs), n_jobs=int(threads), refit_documents=refit == "refit"
    ).fit(paravec.read(texts))
    fitted.save(model)
    print(peak())
