from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

ROW_MULTIPLE: int
ALIGNMENT: int

class Combine:
    concat: ClassVar[Combine]
    mean: ClassVar[Combine]
    sum: ClassVar[Combine]

class Output:
    negative: ClassVar[Output]
    hs: ClassVar[Output]
    softmax: ClassVar[Output]

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
    kernels: str = "",
) -> tuple[float, int]: ...
def infer(
    architecture: Architecture,
    arrays: Arrays,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    seed: int,
    tol: float,
    max_iter: int,
    l2: float,
    out: NDArray[np.float32],
    threads: int,
    kernels: str = "",
) -> None: ...
def fill_uniform(seed: int, purpose: int, dm: bool, out: NDArray[np.float32], kernels: str = "") -> None: ...
def available_kernels() -> list[str]: ...
