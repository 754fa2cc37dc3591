#pragma once

#include <functional>
#include <vector>

#include "runs.hpp"
#include "threads.hpp"

namespace paravec {

// Trains with the same bits at any number of threads. Runs are taken a few at a time. Each starts from the same U and W and
// learns on copies of the rows it needs; then the changes of all are added to the rows, in the order of the runs. Returns
// false when interrupted; a tally a run.
bool train_in_shares(const Kernels& kernels, const Task& task, const Runs& runs, int threads, StopFlag& stop,
                     const std::function<bool()>& interrupted, std::vector<Tally>& tallies);

}  // namespace paravec
