"""Vectors for other programs, and from them: the word2vec format, NumPy, Parquet."""
