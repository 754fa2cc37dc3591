// What inference maximises, in each kind of model, and the log-likelihood it scores. Included by inference.cpp alone.

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

// The words of a text repeat each other, the more the longer it is, so the weight of |d|^2 grows with those that count.
double l2_of(const Frozen& frozen, const Document& document) {
  const int64_t n = count_of(part_of(frozen.task.part, 0, document.length));
  return frozen.sphere ? 0.0 : frozen.how.l2 * (1.0 + static_cast<double>(n) / kFullEvidence);
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
    const double length = this->length();
    const Slope here = link(at_.data(), 0.0f, static_cast<float>(1.0 / length));
    std::fill(coefficients_.begin(), coefficients_.end(), 0.0f);
    weigh(static_cast<float>(1.0 / length));
    frozen_.kernels.weighted_sum(rows_, stride_, count_, length_, coefficients_.data(), x_.data());
    const double back = frozen_.sphere ? here.radial / (length * length) : l2_;
    for (int i = 0; i < size_; ++i) out[i] = x_[i] - back * d_[i];
  }

 protected:
  // What the products of the rows with d are divided by.
  double length() const { return frozen_.sphere ? std::sqrt(square(d_, size_) + kNormFloor) : 1.0; }
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

// The exact softmax of dbow: one distribution over all targets, each wanted as often as it counts in the document.
class Softmax : public Affine {
 public:
  Softmax(const Frozen& frozen, double* d, const Document& document)
      : Affine(frozen, l2_of(frozen, document), d, frozen.task.parameters.outputs.data, frozen.task.parameters.outputs.stride, frozen.n_rows),
        y_(frozen.n_rows), residuals_(frozen.n_rows), scales_(frozen.n_rows, 1.0f) {
    std::vector<int64_t> counts(frozen.n_rows);
    const Range range = predicted(frozen.task, document.length);
    for (int64_t i = range.begin; i < range.end; i += range.step) ++counts[document.tokens[i]];
    targets_ = static_cast<double>(count_of(range));
    for (int64_t w = 0; w < frozen.n_rows; ++w)
      if (counts[w]) wanted_.emplace_back(w, static_cast<float>(counts[w]));
    if (frozen.sphere)
      for (int64_t w = 0; w < frozen.n_rows; ++w)
        scales_[w] = frozen.task.architecture.cosine_scale * inverse_norm(frozen, w);
  }

  double log_likelihood() {
    link(at_.data(), 0.0f, static_cast<float>(1.0 / length()));
    double likelihood = -targets_ * std::log(norm_);
    for (const auto& [w, times] : wanted_) likelihood += static_cast<double>(times) * y_[w];
    return likelihood;
  }

 protected:
  Slope link(const float* along, float t, float factor) override {
    const float* bias = frozen_.task.parameters.bias;
    for (int64_t w = 0; w < count_; ++w) y_[w] = (at_[w] + t * along[w]) * scales_[w] * factor + (bias ? bias[w] : 0.0f);
    const float most = *std::max_element(y_.begin(), y_.end());
    for (int64_t w = 0; w < count_; ++w) y_[w] -= most;
    norm_ = frozen_.kernels.exponentials(y_.data(), count_, residuals_.data());
    const double share = targets_ / norm_;
    double mean = 0, mean_square = 0, radial = 0;
    for (int64_t w = 0; w < count_; ++w) {
      const double p = residuals_[w] / norm_, s = static_cast<double>(along[w]) * scales_[w] * factor;
      mean += p * s;
      mean_square += p * s * s;
      radial -= residuals_[w] * share * (y_[w] + most);
      residuals_[w] = static_cast<float>(-residuals_[w] * share);
    }
    double slope = -mean * targets_;
    for (const auto& [w, times] : wanted_) {
      slope += static_cast<double>(times) * along[w] * scales_[w] * factor;
      radial += static_cast<double>(times) * (y_[w] + most);
      residuals_[w] += times;
    }
    return {slope, targets_ * (mean_square - mean * mean), radial};
  }
  void weigh(float factor) override {
    for (int64_t w = 0; w < count_; ++w) coefficients_[w] = residuals_[w] * scales_[w] * factor;
  }

 private:
  double targets_;   // how many
  double norm_ = 0;  // the sum of exp(y)
  std::vector<std::pair<int64_t, float>> wanted_;  // targets, and how often each counts
  Floats y_;  // logits, less the largest
  Floats residuals_, scales_;
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

  double log_likelihood() {
    take_steps(d_, 1.0);
    return total(w_.tally);
  }

 private:
  // The gradient at d + t direction; on the sphere, at the unit vector along it.
  void evaluate(const double* d, double t, double* out) {
    std::vector<double> x(size_);
    for (int i = 0; i < size_; ++i) x[i] = d[i] + t * direction_[i];
    const double length = frozen_.sphere ? std::sqrt(square(x.data(), size_)) : 1.0;
    take_steps(x.data(), length);
    double outward = 0;
    for (int i = 0; i < size_; ++i) outward += w_.document_gradient[i] * x[i];
    const double back = frozen_.sphere ? outward / (length * length) : l2_of(frozen_, document_);
    for (int i = 0; i < size_; ++i) out[i] = w_.document_gradient[i] / length - back * x[i] / length;
  }

  // All steps of the document at x / length: leaves their gradient and their tally.
  void take_steps(const double* x, double length) {
    for (int i = 0; i < size_; ++i) w_.document[i] = static_cast<float>(x[i] / length);
    std::fill(w_.document_gradient, w_.document_gradient + size_, 0.0);
    w_.tally = {0.0, 1.0, 0};
    frozen_.kernels.gradient(frozen_.task, w_, document_);
  }

  const Frozen& frozen_;
  double* d_;
  Workspace& w_;
  const Document& document_;
  int size_;
  std::vector<double> direction_;
};
