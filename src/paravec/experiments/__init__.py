"""The experiments of the paper, with their data, protocols and baselines."""
