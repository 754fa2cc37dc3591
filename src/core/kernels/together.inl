// Documents that learn together.
//
// Their logits are computed at once and then made those of steps one after another: a row that learned pull x from one
// document has a product with the x of another that is greater by pull (x . x). Rows that two documents share stand at the
// same place of both lists: noise words, and nodes of the tree, where ways that meet have met before.

// Sums of the objective. The sum of log(tail) is kept as the logarithm of a product.
class Sums {
 public:
  // log sigma(y) where the label is 1, log sigma(-y) where it is 0, `times` times: min(+-y, 0) - log(tail).
  void add(Vec y, Vec labels, Vec tails, Vec times, int most_times) {
    const Vec signed_y = labels > 0.0f ? y : -y;
    linear_ += times > 0.0f ? times * (signed_y < 0.0f ? signed_y : Vec{}) : Vec{};
    for (int t = 0; t < most_times; ++t) {
      product_ *= times > static_cast<float>(t) ? tails : Vec{} + 1.0f;
      if (++factors_ == kFactors) settle();
    }
  }
  void add_to(Tally& tally) {
    settle();
    tally.linear += linear_sum_ + sum(linear_);
    tally.product *= product_sum_;
    if (!(tally.product < 1e100)) {
      tally.linear -= __builtin_log(tally.product);
      tally.product = 1.0;
    }
  }

 private:
  static constexpr int kFactors = 32;  // each is at most 2

  void settle() {
    double product = 1.0;
    for (int i = 0; i < kLanes; ++i) product *= static_cast<double>(product_[i]);
    product_sum_ *= product;
    product_ = Vec{} + 1.0f;
    factors_ = 0;
    if (product_sum_ < 1e100) return;
    linear_sum_ -= __builtin_log(product_sum_);
    product_sum_ = 1.0;
  }
  Vec linear_ = {}, product_ = Vec{} + 1.0f;
  double linear_sum_ = 0.0, product_sum_ = 1.0;
  int factors_ = 0;
};

// From products to what the rows are pulled by. rate and scale belong to the document.
template <bool Cosine>
struct Link {
  Vec pull, back, lean;

  // `chances` are null if errors are not drawn, to `least`.
  Link(const Task& task, Sums& sums, Vec product, Vec bias, Vec norm, Vec x_norm, Vec labels, Vec times, int most_times, float rate,
       float scale, const float* chances = nullptr, float least = 0.0f) {
    const auto real = times > 0.0f;  // not what fills a list up
    Vec inverse = {}, cosine = {}, y;
    product = real ? product : Vec{};
    if constexpr (Cosine) {
      norm = real ? norm : Vec{} + 1.0f;
      inverse = 1.0f / root(norm * x_norm);
      cosine = product * inverse;
      y = task.architecture.cosine_scale * cosine;
    } else {
      y = product * scale + bias;
    }
    const Sigmoid<Vec> s = sigmoid(y);
    sums.add(y, labels, s.tail, times, most_times);
    Vec wanted = labels - s.value;
    if (chances) wanted = drawn(wanted, load(chances), Vec{} + least);
    const Vec error = real ? rate * times * wanted : Vec{};
    if constexpr (Cosine) {
      const Vec g = task.architecture.cosine_scale * error;
      lean = g * cosine;
      back = lean / norm;
      pull = g * inverse;
    } else {
      pull = error * scale;
    }
  }
};

// Fills a document's list up, to a whole vector, with what is nobody's.
inline void fill_up(Round& round, int l, int count) {
  const int end = l * round.apart + count;
  store_integers(round.ids + end, IntVec{} - 1 - l);
  store(round.times + end, Vec{});
  round.counts[l] = count;
}

template <bool Cosine, bool Half = false>
inline void link_together(const Task& task, Round& round, Sums& sums, int first, int n) {
  const int length = task.architecture.row, apart = round.apart;
  const bool draw = !Cosine && task.architecture.draw_errors;
  float between[kTogether][kGroup];  // x of m times that of l, at [m][l - m - 1]
  const auto find_between = [&](int m) {
    with_size(n - m - 1, [&](auto size) { store_eight(between[m], dots<size.value, Half>(round.seen + m + 1, round.seen[m], length)); });
  };
  if (!draw)
    for (int m = first; m + 1 < n; ++m) find_between(m);
  for (int m = first; m < n; ++m) {
    const Vec x_norm = Vec{} + (Cosine ? round.x_norms[m] : 1.0f);
    float lean = 0.0f;
    bool found = !draw;
    for (int i = 0; i < round.counts[m]; i += kLanes) {
      const int at = m * apart + i;
      const Link<Cosine> link(task, sums, load(round.products + at), Vec{}, load(round.norms + at), x_norm, load(round.labels + at),
                              load(round.times + at), round.most_times, round.rates[m], round.scales[m],
                              draw ? round.chances + at : nullptr, round.least[m]);
      store(round.pulls + at, link.pull);
      if (draw && !any(link.pull != 0.0f)) continue;
      if constexpr (Cosine) {
        store(round.backs + at, link.back);
        lean += sum(link.lean);
      }
      const IntVec ids = load_integers(round.ids + at);
      for (int l = m + 1; l < n; ++l) {
        const int theirs = l * apart + i;
        const auto same = ids == load_integers(round.ids + theirs);
        if (draw) {  // mostly, those that learn are nobody else's
          if (!any(same & (link.pull != 0.0f))) continue;
          if (!found) find_between(m);
          found = true;
        }
        const Vec product = load(round.products + theirs), more = link.pull * between[m][l - m - 1];
        if constexpr (Cosine) {
          const Vec kept = 1.0f - link.back, norm = load(round.norms + theirs);
          store(round.products + theirs, same ? kept * product + more : product);
          const Vec grown = kept * kept * norm + 2.0f * kept * link.pull * load(round.products + at) + link.pull * link.pull * x_norm;
          store(round.norms + theirs, same ? grown : norm);
        } else {
          store(round.products + theirs, same ? product + more : product);
        }
      }
    }
    if constexpr (Cosine) round.leans[m] = lean / round.x_norms[m];
  }
}

template <bool Cosine>
inline void measure_inputs(const Task& task, Round& round, int n) {
  if constexpr (Cosine)
    for (int l = 0; l < n; ++l) round.x_norms[l] = squared_length(round.x[l], task.architecture.row);
}

template <bool Cosine>
inline void take_back_all(const Task& task, Round& round, int n) {
  if constexpr (Cosine)
    for (int l = 0; l < n; ++l) take_back(round.gradients[l], round.x[l], task.architecture.row, round.leans[l]);
}
