"""Recommends what goes with what was chosen: modules to import, from what the files of the standard library import.

A file is a document, the modules it imports are its words. One import of each test file is hidden; is it among ten
that are recommended?
"""

import argparse
import ast
import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np

from paravec import ParagraphVector


def imports(pattern: str) -> list[list[str]]:
    """The modules that each file imports, if they are three or more."""
    found = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob(pattern)):
        if "packages" in str(path):  # what was installed beside it
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        nodes = list(ast.walk(tree))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        different = list(dict.fromkeys(name.split(".")[0] for name in names))
        if len(different) >= 3:
            found.append(different)
    return found


def recommended(model: ParagraphVector, files: list[list[str]], seen: list[str], k: int = 10) -> list[str]:
    """What the fifty files nearest to a list of modules import besides, by the sum of their scores."""
    if not any(module in model.vocabulary_ for module in seen):
        return []
    votes: Counter[str] = Counter()
    for file, score in model.similar(seen, k=50):
        for module in files[int(file)]:
            votes[module] += max(score, 0)
    return [module for module, _ in votes.most_common() if module not in seen][:k]


def main() -> None:
    """Prints how often the hidden module is recommended, by vectors and by popularity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the files, few epochs")
    quick = parser.parse_args().quick
    files = imports("*.py" if quick else "**/*.py")
    rng = np.random.default_rng(0)
    rng.shuffle(files)
    train, test = files[len(files) // 5 :], files[: len(files) // 5]
    hidden = [file[rng.integers(len(file))] for file in test]
    shown = [[module for module in file if module != gone] for file, gone in zip(test, hidden, strict=True)]

    model = ParagraphVector(vector_size=50, epochs=5 if quick else 30, n_jobs=-1).fit(train)
    popular = [module for module, _ in Counter(module for file in train for module in file).most_common()]
    hits = {"files like it": 0, "popularity": 0}
    for seen, gone in zip(shown, hidden, strict=True):
        hits["files like it"] += gone in recommended(model, train, seen)
        hits["popularity"] += gone in [module for module in popular if module not in seen][:10]
    print(f"{len(train):,} files to learn from, {len(test):,} with a hidden import, {len(popular)} modules")
    for name, count in hits.items():
        print(f"{name}: {count / len(test):.1%} of the hidden imports are among ten")
    print(f"with socket and selectors go {', '.join(recommended(model, train, ['socket', 'selectors'])[:5])}")


if __name__ == "__main__":
    main()
