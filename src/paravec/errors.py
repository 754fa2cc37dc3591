"""What can go wrong, by name."""


class DivergedError(ArithmeticError):
    """Training left the range of numbers: the learning rate is too high."""


class NotEnoughMemoryError(MemoryError):
    """What was asked for needs more memory than there is."""


class DeviceError(RuntimeError):
    """There is no GPU that can be worked with, or no longer."""


class ModelFormatError(ValueError):
    """A folder is not a model (or a checkpoint of one), or not one that can be trusted."""


class WithoutDocumentsError(ValueError):
    """A model was saved without its documents, and one of them is asked for."""


class CorpusFormatError(ValueError):
    """A folder is not an encoded corpus, or not one that can be trusted."""


class TensorError(ValueError):
    """A file of arrays is not one, or not one that can be trusted."""


class SourceError(ValueError):
    """A source cannot be read, or not as what it was said to be."""


class UnknownWordsWarning(UserWarning):
    """Some documents have no word that the model knows; their vectors are zero."""


class EngineWarning(UserWarning):
    """Another engine does the work than might have been expected."""


class ReplacedBytesWarning(UserWarning):
    """Some bytes of a source are not UTF-8, and were replaced."""


class ForgottenWordsWarning(UserWarning):
    """There were more different words than may be held while counting, and the rarest were forgotten on the way."""
