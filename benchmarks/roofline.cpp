// How fast this machine can do what training cannot do without: multiply-adds, and reading and writing the rows of U that
// it visits, in their order. roofline.py compiles and runs it.
//
//   roofline fma
//   roofline rows ROW_FLOATS N_ROWS THREADS LEARNING IDS      (the part of rows that learn; a file of int32)
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>

typedef float Vec __attribute__((vector_size(64)));
using Clock = std::chrono::steady_clock;

static double since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

static void multiply_adds() {
  Vec total[10];
  for (int i = 0; i < 10; ++i) total[i] = Vec{} + static_cast<float>(i);
  const Vec a = Vec{} + 0.999f, b = Vec{} + 0.001f;
  const int64_t rounds = 100'000'000;
  const auto began = Clock::now();
  for (int64_t n = 0; n < rounds; ++n)
    for (Vec& each : total) each = each * a + b;
  for (Vec& each : total) asm volatile("" : "+m"(each));  // or else nothing of it is done
  std::printf("%.4f\n", 16.0 * 10 * rounds / since(began) / 1e9);
}

// Every row that is visited is read, and of the given part of them each gets a little added, with the next ones fetched ahead.
// As in training, a thread has copies of the first megabyte, or threads would wait for each other.
static void visit(float* table, int64_t n_rows, int64_t row, const int32_t* ids, int64_t count, double learning) {
  constexpr int64_t kAhead = 8, kCopied = 1 << 20;
  const int64_t n_copies = kCopied / (4 * row) < n_rows ? kCopied / (4 * row) : n_rows;
  float* copies = static_cast<float*>(std::aligned_alloc(64, kCopied));
  std::memset(copies, 0, kCopied);
  const auto place = [=](int32_t id) { return (id < n_copies ? copies : table) + id * row; };
  const Vec little = Vec{} + 1e-6f;
  Vec total = {};
  double turn = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    float* at = place(ids[i]);
    const float* next = place(ids[i + kAhead < count ? i + kAhead : i]);
    turn += learning;
    const bool learns = turn >= 1.0;
    turn -= learns;
    for (int64_t j = 0; j < row; j += 16) {
      __builtin_prefetch(next + j, 1);
      Vec* numbers = reinterpret_cast<Vec*>(at + j);
      total += *numbers;
      if (learns) *numbers += little;
    }
  }
  asm volatile("" : "+x"(total));
  std::free(copies);
}

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "fma")) {
    multiply_adds();
    return 0;
  }
  if (argc != 7) return 2;
  const int64_t row = std::atoll(argv[2]), n_rows = std::atoll(argv[3]), threads = std::atoll(argv[4]);
  const double learning = std::atof(argv[5]);
  std::FILE* file = std::fopen(argv[6], "rb");
  if (!file) return 1;
  std::fseek(file, 0, SEEK_END);
  std::vector<int32_t> ids(static_cast<size_t>(std::ftell(file)) / sizeof(int32_t));
  std::rewind(file);
  if (std::fread(ids.data(), sizeof(int32_t), ids.size(), file) != ids.size()) return 1;
  std::fclose(file);
  const size_t bytes = static_cast<size_t>(n_rows * row) * sizeof(float);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 1;
  madvise(block, bytes, MADV_HUGEPAGE);
  std::memset(block, 0, bytes);
  const int64_t each = static_cast<int64_t>(ids.size()) / threads;
  const auto began = Clock::now();
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] { visit(static_cast<float*>(block), n_rows, row, ids.data() + t * each, each, learning); });
  for (std::thread& worker : workers) worker.join();
  std::printf("%.6f\n", since(began));
}
