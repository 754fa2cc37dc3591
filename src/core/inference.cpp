#include "inference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "buffers.hpp"
#include "draws.hpp"
#include "lbfgs.hpp"

namespace paravec {
namespace {

#include "kernels/predicted.inl"

using Floats = std::vector<float>;

const float* row_of(const Matrix& m, int64_t i) { return m.data + i * m.stride; }

double square(const double* x, int n) {
  double total = 0;
  for (int i = 0; i < n; ++i) total += x[i] * x[i];
  return total;
}

#include "objectives.inl"

// --- A document ---

struct Scored {
  double objective = 0;
  int64_t targets = 0;
};

// One thread's room for inference and scores.
class Solver {
 public:
  Solver(const Frozen& frozen, int64_t longest, int64_t path)
      : frozen_(frozen), buffers_(frozen.task, longest, path), local_(frozen.n_rows, -1) {}

  void solve(const Document& document, float* out) {
    const Architecture& a = frozen_.task.architecture;
    std::vector<double> d(a.vector_size, 0.0);
    const double l2 = l2_of(frozen_, document);
    if (!a.dm && a.output == Output::Softmax) {
      const double scale = start(document, d.data());
      Softmax objective(frozen_, d.data(), document);
      climb(objective, d, l2, scale);
    } else if (a.dm && (a.output == Output::Softmax || a.cosine)) {
      const double scale = start(document, d.data());
      Stepped objective(frozen_, d.data(), buffers_.workspace, document);
      climb(objective, d, l2, scale);
    } else {
      a.dm ? list_dm(document) : list_dbow(document);
      gather();
      const double scale = frozen_.sphere ? start_from_lists(d.data()) : 0.0;
      Occurrences o = lists();
      Logistic objective(frozen_, l2, d.data(), rows_.data(), stride(), static_cast<int64_t>(touched_.size()), o);
      climb(objective, d, l2, scale);
      for (int32_t row : touched_) local_[row] = -1;
    }
    for (int i = 0; i < a.vector_size; ++i) out[i] = static_cast<float>(d[i]);
  }

  Scored score(const Document& document, const float* vector) {
    const Architecture& a = frozen_.task.architecture;
    std::vector<double> d(vector, vector + a.vector_size);
    const int64_t targets = count_of(predicted(frozen_.task, document.length));
    if (!a.dm && a.output == Output::Softmax) return {Softmax(frozen_, d.data(), document).log_likelihood(), targets};
    return {Stepped(frozen_, d.data(), buffers_.workspace, document).log_likelihood(), targets};
  }

 private:
  // `scale` is what the gradient is measured by: its length at d = 0, which cosine gives apart.
  void climb(Objective& objective, std::vector<double>& d, double l2, double scale) {
    const int size = frozen_.task.architecture.vector_size;
    if (!frozen_.task.architecture.cosine) {
      std::vector<double> gradient(size);
      objective.gradient(gradient.data());
      scale = std::sqrt(square(gradient.data(), size));
    }
    maximise(objective, d.data(), size, {frozen_.how.tol * scale, l2, frozen_.how.max_iter}, frozen_.task.stop);
  }

  int64_t stride() const { return (frozen_.task.architecture.vector_size + kRowMultiple - 1) / kRowMultiple * kRowMultiple; }

  Occurrences lists() {
    return {static_cast<int64_t>(row_.size()), row_.data(), scale_.data(), offset_.data(), up_.data(), down_.data()};
  }

  int32_t local(int32_t row) {
    if (local_[row] < 0) {
      local_[row] = static_cast<int32_t>(touched_.size());
      touched_.push_back(row);
    }
    return local_[row];
  }

  // dbow: a row of U has one logit, however often the document needs it.
  void list_dbow(const Document& document) {
    const Architecture& a = frozen_.task.architecture;
    const Tables& tables = frozen_.task.tables;
    touched_.clear();
    counts_.clear();
    const auto count = [&](int32_t row, bool label) {
      const size_t at = 2 * static_cast<size_t>(local(row));
      if (at == counts_.size()) counts_.resize(at + 2);
      ++counts_[at + label];
    };
    const Range range = predicted(frozen_.task, document.length);
    if (a.output == Output::Hs) {
      for (int64_t i = range.begin; i < range.end; i += range.step)
        for (int64_t n = tables.path_offsets[document.tokens[i]]; n < tables.path_offsets[document.tokens[i] + 1]; ++n)
          count(tables.path_nodes[n], !tables.path_codes[n]);
    } else {
      for (int64_t first = range.begin; first < range.end; first += kChunk * range.step) {
        const int64_t n = std::min<int64_t>(kChunk, count_of({first, range.end, range.step}));
        int32_t* noise = buffers_.workspace.noise;
        frozen_.kernels.noise(frozen_.task, document.draw_key, first, range.step, n, noise);
        for (int64_t i = 0; i < n; ++i) {
          const int32_t target = document.tokens[first + i * range.step];
          count(target, true);
          for (int k = 0; k < a.negative; ++k)
            if (noise[i * a.negative + k] != target) count(noise[i * a.negative + k], false);
        }
      }
    }
    const size_t rows = touched_.size();
    row_.resize(rows);
    up_.resize(rows);
    down_.resize(rows);
    for (size_t r = 0; r < rows; ++r) {
      row_[r] = static_cast<int32_t>(r);
      down_[r] = static_cast<float>(counts_[2 * r]);
      up_[r] = static_cast<float>(counts_[2 * r + 1]);
    }
    scale_.assign(rows, a.cosine ? a.cosine_scale : 1.0f);
    offset_.resize(rows);
    const float* bias = frozen_.task.parameters.bias;
    for (size_t r = 0; r < rows; ++r) offset_[r] = bias ? bias[touched_[r]] : 0.0f;
  }

  // dm: every target has its own context, so every logit its own offset.
  void list_dm(const Document& document) {
    const Architecture& a = frozen_.task.architecture;
    size_t most = static_cast<size_t>(document.length) * static_cast<size_t>(a.negative + 1);
    if (a.output == Output::Hs) {
      const int64_t* offsets = frozen_.task.tables.path_offsets;
      most = 0;
      for (int64_t i = 0; i < document.length; ++i) most += offsets[document.tokens[i] + 1] - offsets[document.tokens[i]];
    }
    row_.resize(most);
    scale_.resize(most);
    offset_.resize(most);
    up_.resize(most);
    down_.resize(most);
    Occurrences o = lists();
    std::fill(buffers_.workspace.document, buffers_.workspace.document + a.vector_size, 0.0f);
    frozen_.kernels.occurrences(frozen_.task, buffers_.workspace, document, o);
    row_.resize(o.count);
    touched_.clear();
    for (int32_t& row : row_) row = local(row);
  }

  // The document's part of the rows that were touched, side by side. What fills a row up is zero from the beginning.
  void gather() {
    constexpr size_t kAhead = 8;
    const Architecture& a = frozen_.task.architecture;
    const Matrix& outputs = frozen_.task.parameters.outputs;
    const int64_t stride = this->stride();
    rows_.resize(touched_.size() * stride);
    for (size_t r = 0; r < touched_.size(); ++r) {
      if (r + kAhead < touched_.size())
        for (int i = 0; i < a.vector_size; i += kRowMultiple) __builtin_prefetch(row_of(outputs, touched_[r + kAhead]) + i);
      const float* from = row_of(outputs, touched_[r]);
      float* to = rows_.data() + r * stride;
      const float scale = a.cosine ? inverse_norm(frozen_, touched_[r]) : 1.0f;
      for (int i = 0; i < a.vector_size; ++i) to[i] = scale * from[i];
    }
  }

  // Cosine starts along the gradient at y = 0. Returns its length there, times the scale of the cosine.
  double start_from_lists(double* d) {
    const int size = frozen_.task.architecture.vector_size;
    for (size_t k = 0; k < row_.size(); ++k) {
      const float* row = rows_.data() + row_[k] * stride();
      const double weight = 0.5 * (up_[k] - down_[k]);
      for (int i = 0; i < size; ++i) d[i] += weight * row[i];
    }
    return to_unit(d);
  }

  double start(const Document& document, double* d) {
    const Architecture& a = frozen_.task.architecture;
    if (!a.cosine) return 0.0;
    if (a.output == Output::Negative) {
      list_dm(document);
      gather();
      const double scale = start_from_lists(d);
      for (int32_t row : touched_) local_[row] = -1;
      return scale;
    }
    const Range range = predicted(frozen_.task, document.length);
    const auto add = [&](int64_t row, double weight) {
      const float* u = row_of(frozen_.task.parameters.outputs, row);
      const double scaled = weight * inverse_norm(frozen_, row);
      for (int i = 0; i < a.vector_size; ++i) d[i] += scaled * u[i];
    };
    const double share = static_cast<double>(count_of(range)) / static_cast<double>(frozen_.n_rows);
    for (int64_t row = 0; row < frozen_.n_rows; ++row) add(row, -share);
    for (int64_t i = range.begin; i < range.end; i += range.step) add(document.tokens[i], 1.0);
    return to_unit(d);
  }

  double to_unit(double* d) const {
    const Architecture& a = frozen_.task.architecture;
    const double length = std::sqrt(square(d, a.vector_size));
    if (length == 0.0) {
      d[0] = 1.0;  // the rows cancel out: any direction is as good
      return a.cosine_scale;
    }
    for (int i = 0; i < a.vector_size; ++i) d[i] /= length;
    return length * a.cosine_scale;
  }

  const Frozen& frozen_;
  Buffers buffers_;
  std::vector<int32_t> local_;  // where a row of U stands among those touched; -1 if not
  std::vector<int32_t> touched_;
  std::vector<int64_t> counts_;  // of each touched row: wanted as 0, wanted as 1
  std::vector<int32_t> row_;
  Floats scale_, offset_, up_, down_, rows_;
};

// Calls work(solver, document) for every document that has a target that counts. Returns false when interrupted.
template <class Work>
bool each_document(const Kernels& kernels, Task task, const Corpus& corpus, int64_t count, const Inference& how, int threads,
                   const std::function<bool()>& interrupted, Work work) {
  StopFlag stop;
  task.stop = &stop.value;
  task.frozen = true;
  task.part = how.part;
  task.noise = stream(how.seed, InferenceNoise, 0, task.architecture.dm);
  const int64_t n_rows = task.architecture.output == Output::Hs ? task.tables.n_targets - 1 : task.tables.n_targets;
  const Frozen frozen = {kernels, task, how, n_rows, task.architecture.cosine};

  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) longest = std::max(longest, corpus.offsets[i + 1] - corpus.offsets[i]);
  const int64_t path = longest_path(task.tables);
  Dealer dealer(count, 1);

  constexpr int64_t kAtOnce = 4096;  // so few tokens are done before a thread would have started
  const bool at_once = corpus.offsets[count] - corpus.offsets[0] <= kAtOnce && task.architecture.output != Output::Softmax;

  const auto some = [&](int) {
    Solver solver(frozen, longest, path);
    Dealer::Run run;
    while (!stop.raised() && dealer.next(run)) {
      if (at_once && interrupted()) stop.raise();
      const int64_t i = run.begin, length = corpus.offsets[i + 1] - corpus.offsets[i];
      const int32_t* tokens = corpus.tokens + corpus.offsets[i];
      const uint64_t key = how.common ? 0 : hash_tokens(tokens, length);
      if (count_of(predicted(task, length))) work(solver, Document{tokens, length, i, key, 1.0f});
    }
  };
  if (at_once) {
    some(0);
    return !stop.raised();
  }
  return run_threads(static_cast<int>(std::clamp<int64_t>(count, 1, threads)), stop, some, interrupted);
}

}  // namespace

uint64_t hash_tokens(const int32_t* tokens, int64_t count) {
  uint64_t value = 0x9E3779B97F4A7C15u;
  for (int64_t i = 0; i < count; ++i) {
    value = (value ^ static_cast<uint64_t>(tokens[i])) * 0xBF58476D1CE4E5B9u;
    value ^= value >> 29;
  }
  return value;
}

bool infer(const Kernels& kernels, Task task, const Corpus& corpus, int64_t count, const Inference& how, float* out, int threads,
           const std::function<bool()>& interrupted) {
  const int size = task.architecture.vector_size;
  std::fill(out, out + count * size, 0.0f);
  return each_document(kernels, task, corpus, count, how, threads, interrupted,
                       [&](Solver& solver, const Document& document) { solver.solve(document, out + document.row * size); });
}

Result score(const Kernels& kernels, Task task, const Corpus& corpus, int64_t count, const Inference& how, const float* vectors,
             int threads, const std::function<bool()>& interrupted) {
  const int size = task.architecture.vector_size;
  std::vector<Scored> scored(count);
  const bool complete =
      each_document(kernels, task, corpus, count, how, threads, interrupted, [&](Solver& solver, const Document& document) {
        scored[document.row] = solver.score(document, vectors + document.row * size);
      });
  Result result = {0.0, 0, !complete};
  for (const Scored& one : scored) {  // in the order of the documents, whoever scored them
    result.objective += one.objective;
    result.targets += one.targets;
  }
  return result;
}

}  // namespace paravec
