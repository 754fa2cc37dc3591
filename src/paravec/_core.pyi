from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

ROW_MULTIPLE: int
HALF_MULTIPLE: int
ALIGNMENT: int

class Combine:
    concat: ClassVar[Combine]
    mean: ClassVar[Combine]
    sum: ClassVar[Combine]

class Output:
    negative: ClassVar[Output]
    hs: ClassVar[Output]
    softmax: ClassVar[Output]

class Part:
    all: ClassVar[Part]
    even: ClassVar[Part]
    odd: ClassVar[Part]

class Architecture:
    def __init__(
        self,
        dm: bool,
        vector_size: int,
        word_size: int,
        window: int,
        both: bool,
        combine: Combine,
        pad_all: bool,
        output: Output,
        negative: int,
        cosine: bool,
        cosine_scale: float,
        batch_size: int,
        train_words: bool,
        by_ways: bool,
        draw_errors: bool,
        half: bool,
        slots: int,
        width: int,
    ) -> None: ...

class Arrays:
    def __init__(
        self,
        documents: NDArray[np.floating] | None,
        words: NDArray[np.floating] | None,
        outputs: NDArray[np.floating] | None,
        bias: NDArray[np.floating] | None,
        trainable: NDArray[np.uint8] | None,
        keep: NDArray[np.uint32] | None,
        noise_threshold: NDArray[np.uint32] | None,
        noise_alias: NDArray[np.int32] | None,
        path_offsets: NDArray[np.int64] | None,
        path_nodes: NDArray[np.int32] | None,
        path_codes: NDArray[np.uint8] | None,
        n_words: int,
        n_targets: int,
    ) -> None: ...

class Inference:
    def __init__(self, seed: int, tol: float, max_iter: int, l2: float, part: Part, common: bool) -> None: ...

def train(
    architecture: Architecture,
    arrays: Arrays,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    seed: int,
    epoch: int,
    order: NDArray[np.int64],
    rates: NDArray[np.float32],
    threads: int,
    deterministic: bool = False,
    kernels: str = "",
) -> tuple[float, int]: ...
def infer(
    architecture: Architecture,
    arrays: Arrays,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: Inference,
    out: NDArray[np.float32],
    threads: int,
    kernels: str = "",
) -> None: ...
def score(
    architecture: Architecture,
    arrays: Arrays,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: Inference,
    vectors: NDArray[np.float32],
    threads: int,
    kernels: str = "",
) -> tuple[float, int]: ...
def pack_outputs(outputs: NDArray[np.floating], bias: NDArray[np.floating] | None, kernels: str = "") -> None: ...
def unpack_outputs(outputs: NDArray[np.floating], bias: NDArray[np.floating] | None, kernels: str = "") -> None: ...
def fill_uniform(seed: int, purpose: int, dm: bool, out: NDArray[np.float32], kernels: str = "") -> None: ...
def fill_order(seed: int, epoch: int, dm: bool, out: NDArray[np.int64]) -> None: ...
def available_kernels() -> list[str]: ...

UNICODE_VERSION: str

Tokens = tuple[NDArray[np.int32], NDArray[np.int64]]  # of documents: their tokens, and offsets

class Documents:
    @staticmethod
    def lines(data: bytes) -> Documents: ...
    @staticmethod
    def texts(texts: list[Any]) -> Documents: ...
    @staticmethod
    def column(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Documents: ...
    @staticmethod
    def tokens(lists: list[Sequence[str | int]]) -> Documents: ...
    def __len__(self) -> int: ...

class Indexer:
    def __init__(self, tokenizer: str, lowercase: bool, strip_tags: bool, threads: int, max_unique: int) -> None: ...
    def add(self, documents: Documents) -> Tokens: ...
    def most_frequent(
        self, min_count: int, most: int, integers: bool
    ) -> tuple[list[str | int], NDArray[np.int64], NDArray[np.int32]]: ...
    @property
    def pruned(self) -> tuple[int, int, int]: ...

class Lexicon:
    def __init__(self, words: list[str | int]) -> None: ...
    def encode(
        self, documents: Documents, tokenizer: str, lowercase: bool, strip_tags: bool, threads: int
    ) -> Tokens: ...

class NgramTable:
    def __init__(self, prefix: NDArray[np.int32], last: NDArray[np.int32], first_id: int) -> None: ...
    def attach(self, words: NDArray[np.int32], offsets: NDArray[np.int64], longest: int, threads: int) -> Tokens: ...

class NgramCounter:
    def __init__(self, n_words: int, threads: int, max_unique: int) -> None: ...
    def add(self, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> None: ...
    def close(self, floor: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    @property
    def pruned(self) -> tuple[int, int, int]: ...

def tokenize(text: str, tokenizer: str, lowercase: bool, strip_tags: bool) -> list[str]: ...
def unpack(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]: ...
def fnv1a(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]: ...
def first_invalid(data: bytes | NDArray[np.uint8]) -> int: ...
def select(tokens: NDArray[np.int32], offsets: NDArray[np.int64], ids: NDArray[np.int32], threads: int) -> Tokens: ...
def join(arrays: list[NDArray[np.int32]], threads: int) -> NDArray[np.int32]: ...
def renumber(tokens: NDArray[np.int32], ids: NDArray[np.int32], threads: int) -> NDArray[np.int32]: ...
def huffman(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]: ...
def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]: ...
