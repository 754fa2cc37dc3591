#include "threads.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace paravec {

bool run_threads(int threads, StopFlag& stop, const std::function<void(int)>& work, const std::function<bool()>& interrupted) {
  std::mutex mutex;
  std::condition_variable done;
  std::exception_ptr failure;
  int running = 0;

  const auto body = [&](int thread) {
    std::exception_ptr mine;
    try {
      work(thread);
    } catch (...) {
      mine = std::current_exception();
      stop.raise();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (mine && !failure) failure = mine;
    --running;
    done.notify_all();
  };

  std::vector<std::thread> pool;
  try {
    for (int i = 0; i < threads; ++i) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        ++running;
      }
      pool.emplace_back(body, i);
    }
  } catch (...) {
    stop.raise();
    for (std::thread& thread : pool) thread.join();
    throw;
  }

  bool ended_early = false;
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (!done.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      if (ended_early) continue;
      lock.unlock();
      if (interrupted()) {
        ended_early = true;
        stop.raise();
      }
      lock.lock();
    }
  }
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  return !ended_early;
}

}  // namespace paravec
