"""What can go wrong, by name."""


class DivergedError(ArithmeticError):
    """Training left the range of numbers: the learning rate is too high."""


class ModelFormatError(ValueError):
    """A folder is not a model, or not one that can be trusted."""


class UnknownWordsWarning(UserWarning):
    """Some documents have no word that the model knows; their vectors are zero."""
