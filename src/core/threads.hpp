#pragma once

#include <cstdint>
#include <functional>

namespace paravec {

// Set by run() when the caller wants to end early; long loops look at it.
struct StopFlag {
  bool value = false;
  void raise() { __atomic_store_n(&value, true, __ATOMIC_RELAXED); }
  bool raised() const { return __atomic_load_n(&value, __ATOMIC_RELAXED); }
};

// Calls work(thread) on `threads` threads, while the calling thread asks `interrupted` ten times a second.
// The first exception of a thread stops the others and is thrown here. Returns false when interrupted.
bool run_threads(int threads, StopFlag& stop, const std::function<void(int)>& work, const std::function<bool()>& interrupted);

// Deals out [0, count) in runs of about equal weight, in order, to whoever asks next.
class Dealer {
 public:
  struct Run {
    int64_t begin, end;
  };
  Dealer(int64_t count, int64_t run) : count_(count), run_(run) {}
  bool next(Run& run) {
    run.begin = __atomic_fetch_add(&next_, run_, __ATOMIC_RELAXED);
    run.end = run.begin + run_ < count_ ? run.begin + run_ : count_;
    return run.begin < count_;
  }

 private:
  int64_t count_, run_, next_ = 0;
};

}  // namespace paravec
