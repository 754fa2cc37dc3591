#include "inference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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

// What all documents of a call share.
struct Frozen {
  const Kernels& kernels;
  const Task& task;
  const Inference& how;
  int64_t n_rows;
  bool sphere;  // cosine: d is a unit vector, and l2 has no meaning
};

// 1 / |u|, for cosine.
float inverse_norm(const Frozen& frozen, int64_t row) {
  double total = kNormFloor;
  const float* u = row_of(frozen.task.parameters.outputs, row);
  for (int i = 0; i < frozen.task.architecture.width; ++i) total += static_cast<double>(u[i]) * u[i];
  return static_cast<float>(1.0 / std::sqrt(total));
}

// The words of a text repeat each other, the more the longer it is, so the weight of |d|^2 grows with them.
double l2_of(const Frozen& frozen, const Document& document) {
  return frozen.sphere ? 0.0 : frozen.how.l2 * (1.0 + static_cast<double>(document.length) / kFullEvidence);
}

// --- Objectives whose logits are affine in d (or are, up to the length of d) ---

class Affine : public Objective {
 public:
  Affine(const Frozen& frozen, double l2, double* d, const float* rows, int64_t stride, int64_t count)
      : frozen_(frozen), d_(d), rows_(rows), stride_(stride), count_(count), at_(count), along_(count), coefficients_(count),
        size_(frozen.task.architecture.vector_size), length_((size_ + kRowMultiple - 1) / kRowMultiple * kRowMultiple),
        direction_(size_), x_(length_), l2_(l2) {
    project(d_, at_);
  }

  void aim(const double* direction) override {
    std::copy(direction, direction + size_, direction_.begin());
    project(direction, along_);
    mixed_ = 0;
    for (int i = 0; i < size_; ++i) mixed_ += d_[i] * direction[i];
    direction_square_ = square(direction, size_);
    d_square_ = square(d_, size_);
  }

  Slope along(double t) override {
    Slope slope = link(along_.data(), static_cast<float>(t), static_cast<float>(factor(t)));
    if (frozen_.sphere) {
      slope.slope -= (mixed_ + t * direction_square_) / squared_length(t) * slope.radial;
      slope.curvature = 0;
    } else {
      slope.slope -= l2_ * (mixed_ + t * direction_square_);
      slope.curvature += l2_ * direction_square_;
    }
    return slope;
  }

  void move(double t) override {
    double scale = 1.0;
    for (int i = 0; i < size_; ++i) d_[i] += t * direction_[i];
    if (frozen_.sphere) {
      scale = 1.0 / std::sqrt(square(d_, size_));
      for (int i = 0; i < size_; ++i) d_[i] *= scale;
    }
    for (int64_t r = 0; r < count_; ++r)
      at_[r] = static_cast<float>((at_[r] + t * along_[r]) * scale);
  }

  void gradient(double* out) override {
    const double length = frozen_.sphere ? std::sqrt(square(d_, size_) + kNormFloor) : 1.0;
    const Slope here = link(at_.data(), 0.0f, static_cast<float>(1.0 / length));
    std::fill(coefficients_.begin(), coefficients_.end(), 0.0f);
    weigh(static_cast<float>(1.0 / length));
    frozen_.kernels.weighted_sum(rows_, stride_, count_, length_, coefficients_.data(), x_.data());
    const double back = frozen_.sphere ? here.radial / (length * length) : l2_;
    for (int i = 0; i < size_; ++i) out[i] = x_[i] - back * d_[i];
  }

 protected:
  // Residuals and slope at y(t) = factor (at + t along), as the output has it.
  virtual Slope link(const float* along, float t, float factor) = 0;
  // Adds to coefficients_ what each row contributes to the gradient.
  virtual void weigh(float factor) = 0;

  const Frozen& frozen_;
  double* d_;
  const float* rows_;
  int64_t stride_, count_;
  Floats at_, along_, coefficients_;

 private:
  void project(const double* x, Floats& out) {
    for (int i = 0; i < size_; ++i) x_[i] = static_cast<float>(x[i]);
    std::fill(x_.begin() + size_, x_.end(), 0.0f);
    frozen_.kernels.dots(rows_, stride_, count_, length_, x_.data(), out.data());
  }
  double squared_length(double t) const { return d_square_ + 2 * t * mixed_ + t * t * direction_square_ + kNormFloor; }
  double factor(double t) const { return frozen_.sphere ? 1.0 / std::sqrt(squared_length(t)) : 1.0; }

  int size_, length_;
  std::vector<double> direction_;
  Floats x_;
  double l2_, mixed_ = 0, direction_square_ = 0, d_square_ = 0;
};

// Hierarchical softmax and negative sampling.
class Logistic : public Affine {
 public:
  Logistic(const Frozen& frozen, double l2, double* d, const float* rows, int64_t stride, int64_t count,
           const Occurrences& occurrences)
      : Affine(frozen, l2, d, rows, stride, count), occurrences_(occurrences), residuals_(occurrences.count) {}

 protected:
  Slope link(const float* along, float t, float factor) override {
    return frozen_.kernels.logistic(occurrences_, at_.data(), along, t, factor, residuals_.data());
  }
  void weigh(float factor) override {
    for (int64_t k = 0; k < occurrences_.count; ++k)
      coefficients_[occurrences_.row[k]] += residuals_[k] * occurrences_.scale[k] * factor;
  }

 private:
  const Occurrences& occurrences_;
  Floats residuals_;
};

// The exact softmax of dbow: one distribution over all targets, wanted as often as the document has each.
class Softmax : public Affine {
 public:
  Softmax(const Frozen& frozen, double* d, const Document& document)
      : Affine(frozen, l2_of(frozen, document), d, frozen.task.parameters.outputs.data, frozen.task.parameters.outputs.stride, frozen.n_rows),
        length_(static_cast<double>(document.length)), y_(frozen.n_rows), residuals_(frozen.n_rows), scales_(frozen.n_rows, 1.0f) {
    std::vector<int64_t> counts(frozen.n_rows);
    for (int64_t i = 0; i < document.length; ++i) ++counts[document.tokens[i]];
    for (int64_t w = 0; w < frozen.n_rows; ++w)
      if (counts[w]) wanted_.emplace_back(w, static_cast<float>(counts[w]));
    if (frozen.sphere)
      for (int64_t w = 0; w < frozen.n_rows; ++w)
        scales_[w] = frozen.task.architecture.cosine_scale * inverse_norm(frozen, w);
  }

 protected:
  Slope link(const float* along, float t, float factor) override {
    const float* bias = frozen_.task.parameters.bias;
    for (int64_t w = 0; w < count_; ++w) y_[w] = (at_[w] + t * along[w]) * scales_[w] * factor + (bias ? bias[w] : 0.0f);
    const float most = *std::max_element(y_.begin(), y_.end());
    for (int64_t w = 0; w < count_; ++w) y_[w] -= most;
    const double norm = frozen_.kernels.exponentials(y_.data(), count_, residuals_.data());
    const double share = length_ / norm;
    double mean = 0, mean_square = 0, radial = 0;
    for (int64_t w = 0; w < count_; ++w) {
      const double p = residuals_[w] / norm, s = static_cast<double>(along[w]) * scales_[w] * factor;
      mean += p * s;
      mean_square += p * s * s;
      radial -= residuals_[w] * share * (y_[w] + most);
      residuals_[w] = static_cast<float>(-residuals_[w] * share);
    }
    double slope = -mean * length_;
    for (const auto& [w, times] : wanted_) {
      slope += static_cast<double>(times) * along[w] * scales_[w] * factor;
      radial += static_cast<double>(times) * (y_[w] + most);
      residuals_[w] += times;
    }
    return {slope, length_ * (mean_square - mean * mean), radial};
  }
  void weigh(float factor) override {
    for (int64_t w = 0; w < count_; ++w) coefficients_[w] = residuals_[w] * scales_[w] * factor;
  }

 private:
  double length_;
  std::vector<std::pair<int64_t, float>> wanted_;  // targets, and how often the document has each
  Floats y_, residuals_, scales_;
};

// --- All others: the steps of training with everything but d frozen ---

class Stepped : public Objective {
 public:
  Stepped(const Frozen& frozen, double* d, Workspace& workspace, const Document& document)
      : frozen_(frozen), d_(d), w_(workspace), document_(document), size_(frozen.task.architecture.vector_size),
        direction_(size_) {}

  void gradient(double* out) override { evaluate(d_, 0.0, out); }

  void aim(const double* direction) override { direction_.assign(direction, direction + size_); }

  Slope along(double t) override {
    std::vector<double> there(size_);
    evaluate(d_, t, there.data());
    double slope = 0;
    for (int i = 0; i < size_; ++i) slope += there[i] * direction_[i];
    return {slope, 0.0, 0.0};
  }

  void move(double t) override {
    for (int i = 0; i < size_; ++i) d_[i] += t * direction_[i];
    if (!frozen_.sphere) return;
    const double length = std::sqrt(square(d_, size_));
    for (int i = 0; i < size_; ++i) d_[i] /= length;
  }

 private:
  // The gradient at d + t direction; on the sphere, at the unit vector along it.
  void evaluate(const double* d, double t, double* out) {
    std::vector<double> x(size_);
    for (int i = 0; i < size_; ++i) x[i] = d[i] + t * direction_[i];
    const double length = frozen_.sphere ? std::sqrt(square(x.data(), size_)) : 1.0;
    for (int i = 0; i < size_; ++i) w_.document[i] = static_cast<float>(x[i] / length);
    std::fill(w_.document_gradient, w_.document_gradient + size_, 0.0);
    frozen_.kernels.train(frozen_.task, w_, document_);
    frozen_.kernels.flush(frozen_.task, w_);
    double outward = 0;
    for (int i = 0; i < size_; ++i) outward += w_.document_gradient[i] * x[i];
    const double back = frozen_.sphere ? outward / (length * length) : l2_of(frozen_, document_);
    for (int i = 0; i < size_; ++i) out[i] = w_.document_gradient[i] / length - back * x[i] / length;
  }

  const Frozen& frozen_;
  double* d_;
  Workspace& w_;
  const Document& document_;
  int size_;
  std::vector<double> direction_;
};

// --- A document ---

// One thread's room for inference.
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
    if (a.output == Output::Hs) {
      for (int64_t i = 0; i < document.length; ++i)
        for (int64_t n = tables.path_offsets[document.tokens[i]]; n < tables.path_offsets[document.tokens[i] + 1]; ++n)
          count(tables.path_nodes[n], !tables.path_codes[n]);
    } else {
      for (int64_t first = 0; first < document.length; first += kChunk) {
        const int64_t n = std::min<int64_t>(kChunk, document.length - first);
        int32_t* noise = buffers_.workspace.noise;
        frozen_.kernels.noise(frozen_.task, document.draw_key, first, n, noise);
        for (int64_t i = 0; i < n; ++i) {
          const int32_t target = document.tokens[first + i];
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

  // The document's part of the rows that were touched, side by side.
  void gather() {
    const Architecture& a = frozen_.task.architecture;
    const int64_t stride = this->stride();
    rows_.assign(touched_.size() * stride, 0.0f);
    for (size_t r = 0; r < touched_.size(); ++r) {
      const float* from = row_of(frozen_.task.parameters.outputs, touched_[r]);
      const float scale = a.cosine ? inverse_norm(frozen_, touched_[r]) : 1.0f;
      for (int i = 0; i < a.vector_size; ++i) rows_[r * stride + i] = scale * from[i];
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
    const Range range = a.dm ? predicted(a, document.length) : Range{0, document.length};
    const auto add = [&](int64_t row, double weight) {
      const float* u = row_of(frozen_.task.parameters.outputs, row);
      const double scaled = weight * inverse_norm(frozen_, row);
      for (int i = 0; i < a.vector_size; ++i) d[i] += scaled * u[i];
    };
    const double share = static_cast<double>(range.end - range.begin) / static_cast<double>(frozen_.n_rows);
    for (int64_t row = 0; row < frozen_.n_rows; ++row) add(row, -share);
    for (int64_t i = range.begin; i < range.end; ++i) add(document.tokens[i], 1.0);
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
  StopFlag stop;
  task.stop = &stop.value;
  task.frozen = true;
  task.noise = stream(how.seed, InferenceNoise, 0, task.architecture.dm);
  const int64_t n_rows = task.architecture.output == Output::Hs ? task.tables.n_targets - 1 : task.tables.n_targets;
  const Frozen frozen = {kernels, task, how, n_rows, task.architecture.cosine};

  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) longest = std::max(longest, corpus.offsets[i + 1] - corpus.offsets[i]);
  const int64_t path = longest_path(task.tables);
  Dealer dealer(count, 1);
  const int size = task.architecture.vector_size;

  constexpr int64_t kAtOnce = 4096;  // so few tokens are done before a thread would have started
  const bool at_once = corpus.offsets[count] - corpus.offsets[0] <= kAtOnce && task.architecture.output != Output::Softmax;

  const auto work = [&](int) {
    Solver solver(frozen, longest, path);
    Dealer::Run run;
    while (!stop.raised() && dealer.next(run)) {
      if (at_once && interrupted()) stop.raise();
      const int64_t i = run.begin, length = corpus.offsets[i + 1] - corpus.offsets[i];
      const int32_t* tokens = corpus.tokens + corpus.offsets[i];
      if (length == 0) {
        std::memset(out + i * size, 0, sizeof(float) * size);
      } else {
        solver.solve({tokens, length, 0, hash_tokens(tokens, length), 1.0f}, out + i * size);
      }
    }
  };
  if (at_once) {
    work(0);
    return !stop.raised();
  }
  return run_threads(static_cast<int>(std::clamp<int64_t>(count, 1, threads)), stop, work, interrupted);
}

}  // namespace paravec
