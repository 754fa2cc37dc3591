"""Tables and a plot of what ``rival.py`` found.

python benchmarks/tables.py [results/rival.json]            # printed
python benchmarks/tables.py [results/rival.json] --write    # to README.md here, and the plot to rival.svg
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from beside.models import MODELS

Rows = list[dict[str, Any]]
HERE = Path(__file__).parent
BEGIN, END = "<!-- rival:begin -->", "<!-- rival:end -->"
COLOURS = ("#4477aa", "#cc6677", "#999933", "#888888")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def sorted_rows(rows: Rows) -> Rows:
    """In the order of the models."""
    return sorted(rows, key=lambda row: (list(MODELS).index(row["model"]), row["dimension"]))


def training_table(rows: Rows) -> str:
    header = ["model", "dimensions", "reviews", "paravec, M words/s", "gensim iterable", "gensim file", "ratio"]
    header += ["ratio of each round", "paravec, MB", "gensim, MB: quicker", "leaner"]
    lines = []
    for row in sorted_rows(rows):
        rate, peak, beyond = row["m_words_a_second"], row["peak_mb"], row["beyond_mb"]
        leaner = min(("gensim iterable", "gensim file"), key=lambda program: peak[program])
        memory = [f"{peak[who]:,.0f} ({beyond[who]:,.0f})" for who in ("paravec", row["quicker"], leaner)]
        speeds = [f"{rate[who]:.2f}" for who in ("paravec", "gensim iterable", "gensim file")]
        rounds = ", ".join(f"{ratio:.1f}" for ratio in row["ratio_of_rounds"])
        title = MODELS[row["model"]].title
        names = [title, str(row["dimension"]), f"{row['documents']:,}"]
        lines.append([*names, *speeds, f"**{row['ratio']:.1f}**", rounds, *memory])
    return table(header, lines)


def error_table(rows: Rows) -> str:
    found: dict[tuple[str, int, int], dict[str, Rows]] = {}
    for row in sorted_rows(rows):
        key = (row["model"], row["dimension"], row["epochs"])
        found.setdefault(key, {}).setdefault(row["program"], []).append(row)
    lines = []
    for (model, dimension, epochs), programs in found.items():
        line = [MODELS[model].title, str(dimension), str(epochs)]
        for program in ("paravec", "gensim"):
            errors = [row["error"] for row in sorted(programs.get(program, []), key=lambda row: row["seed"])]
            each = f" ({', '.join(f'{error:.2f}' for error in errors)})" if len(errors) > 1 else ""
            line.append(f"{statistics.mean(errors):.2f}{each}" if errors else "")
        alphas = {str(row["alpha"]) for row in programs.get("gensim", [])}
        lines.append([*line, ", ".join(sorted(alphas))])
    header = ["model", "dimensions", "epochs", "paravec, % (each seed)", "gensim, %", "gensim's alpha"]
    return table(header, lines)


def inference_table(rows: Rows) -> str:
    whole = max(row["documents"] for row in rows)
    lines = []
    for row in rows:
        scaled = " (scaled)" if row["documents"] < whole else ""
        seconds = f"{whole / row['documents_a_second']:.2f}{scaled}"
        error = f"{row['error_of_first']:.2f}"
        lines.append([row["program"], f"{row['documents_a_second']:,.0f}", seconds, f"{row['documents']:,}", error])
    first = f"{rows[0]['first']:,}"
    header = ["", "documents/s", f"s for {whole:,}", "documents timed", f"error of the first {first}, %"]
    return table(header, lines)


def latency_table(rows: Rows) -> str:
    lines = [[row["program"], f"{row['median_ms']:.2f}", f"{row['p90_ms']:.2f}", str(row["calls"])] for row in rows]
    return table(["", "median, ms", "90th percentile, ms", "calls"], lines)


def end_to_end_table(rows: Rows) -> str:
    ours = next((row["median_s"] for row in rows if row["program"] == "paravec"), None)
    lines = []
    for row in rows:
        rounds = ", ".join(f"{seconds:.1f}" for seconds in row["seconds"])
        times = f"{row['median_s'] / ours:.1f}" if ours else ""
        lines.append([row["program"], f"{row['median_s']:.1f}", rounds, times, f"{row['peak_mb']:,.0f}"])
    return table(["", "s, median", "each round", "times paravec", "peak, MB"], lines)


PARTS = {
    "training": ("Training", training_table),
    "errors": ("Errors", error_table),
    "inference": ("Inference of many documents", inference_table),
    "latency": ("Inference of one document", latency_table),
    "end_to_end": ("From text to a saved model", end_to_end_table),
}


def text_of(results: dict[str, Any], plot: str | None) -> str:
    machine, versions = results["machine"], results["versions"]
    told = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, Python {machine['python']}, "
        f"gensim {versions['gensim']}. `rival.py` says what is measured; every round is in the results."
    ]
    for part, (title, make) in PARTS.items():
        if results.get(part):
            told += [f"### {title}", make(results[part])]
            if part == "training":
                told.append("Memory is the peak of the process and, in brackets, what is beyond corpus and vocabulary.")
                told += [f"![paravec's speed over gensim's]({plot})"] if plot else []
    return "\n\n".join(told)


def draw(rows: Rows, path: Path) -> None:
    """Bars of how many times gensim's speed ours is, by model and dimension."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = sorted_rows(rows)
    models = [model for model in MODELS if any(row["model"] == model for row in rows)]
    dimensions = sorted({row["dimension"] for row in rows})
    height = 0.8 / len(dimensions)
    plt.rcParams["svg.hashsalt"] = "paravec"  # the same picture is the same file
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.75 * len(models)), layout="constrained")
    for i, dimension in enumerate(dimensions):
        mine = [row for row in rows if row["dimension"] == dimension]
        places = [models.index(row["model"]) + (i - (len(dimensions) - 1) / 2) * height for row in mine]
        ratios = [row["ratio"] for row in mine]
        label = f"{dimension} dimensions"
        bars = axes.barh(places, ratios, height * 0.92, color=COLOURS[i % len(COLOURS)], label=label)
        axes.bar_label(bars, fmt="%.1f", padding=-26, fontsize=9, color="white")
    axes.axvline(5, color="black", linewidth=1, linestyle="--", label="5 times", zorder=0)
    axes.set_yticks(range(len(models)), [MODELS[model].title for model in models])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.1 * max(5, *(row["ratio"] for row in rows)))
    axes.set_xlabel("training speed, times that of gensim's quicker mode")
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] == "5 times")  # the line comes last
    figure.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="outside upper center", ncols=4, frameon=False
    )
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=HERE / "results" / "rival.json")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md, and draw the plot")
    parser.add_argument("--plot", type=Path, help="draw the plot here (.svg, .png)")
    chosen = parser.parse_args()
    results = json.loads(chosen.results.read_text())
    plot = chosen.plot or (HERE / "results" / "rival.svg" if chosen.write else None)
    if plot and results.get("training"):
        draw(results["training"], plot)
    if not chosen.write:
        print(text_of(results, None))
        return
    readme = HERE / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    text = text_of(results, "results/rival.svg" if results.get("training") else None)
    readme.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
