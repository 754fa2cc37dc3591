// What inference needs beside the frozen steps: y is affine in d, so the words of the context become an offset each.

// The logits of all targets of a dm document, with d = 0: what d adds is linear.
void occurrences(const Task& task, Workspace& w, const Document& document, Occurrences& out) {
  const Architecture& a = task.architecture;
  out.count = 0;
  each_target(task, w, document, [&](int64_t t, const int32_t* noise) {
    const int count = collect_rows(task, w, document.tokens[t], noise);
    fill_input(task, w, w.document, w.context, false, w.h);
    const float share = share_of(task, w.context);
    for (int i = 0; i < count; ++i) {
      const float* row = row_of(task.parameters.outputs, w.rows[i]);
      const float y = dots<1>(&row, w.h, a.row)[0];
      const int64_t k = out.count++;
      out.row[k] = w.rows[i];
      out.scale[k] = share;
      out.offset[k] = y + (task.parameters.bias ? task.parameters.bias[w.rows[i]] : 0.0f);
      out.up[k] = w.labels[i] > 0 ? w.times[i] : 0.0f;
      out.down[k] = w.labels[i] > 0 ? 0.0f : w.times[i];
    }
  });
}

// out[i] = rows[i] . x
void dots_many(const float* rows, int64_t stride, int64_t count, int length, const float* x, float* out) {
  int64_t done = 0;
  for (; done + 4 <= count; done += 4) {
    const float* group[4];
    for (int r = 0; r < 4; ++r) group[r] = rows + (done + r) * stride;
    const Eight four = dots<4>(group, x, length);
    for (int r = 0; r < 4; ++r) out[done + r] = four[r];
  }
  for (; done < count; ++done) {
    const float* row = rows + done * stride;
    out[done] = dots<1>(&row, x, length)[0];
  }
}

// out = sum over i of weights[i] rows[i]
void weighted_sum(const float* rows, int64_t stride, int64_t count, int length, const float* weights, float* out) {
  for (int j = 0; j < length; j += kLanes) store(out + j, Vec{});
  int64_t done = 0;
  for (; done + 4 <= count; done += 4) {
    const float* r = rows + done * stride;
    const float w0 = weights[done], w1 = weights[done + 1], w2 = weights[done + 2], w3 = weights[done + 3];
    for (int j = 0; j < length; j += kLanes) {
      const Vec pair = w0 * load(r + j) + w1 * load(r + stride + j);
      const Vec other = w2 * load(r + 2 * stride + j) + w3 * load(r + 3 * stride + j);
      store(out + j, load(out + j) + (pair + other));
    }
  }
  for (; done < count; ++done)
    for (int j = 0; j < length; j += kLanes) store(out + j, load(out + j) + weights[done] * load(rows + done * stride + j));
}

// At y_k = scale_k factor (at + t along)[row_k] + offset_k: the residual of each (up - (up + down) sigma), and along the line the
// slope, the curvature and the sum of residual * y.
Slope logistic(const Occurrences& o, const float* at, const float* along, float t, float factor, float* residual) {
  double slope = 0, curvature = 0, radial = 0;
  for (int64_t first = 0; first < o.count; first += kLanes) {
    const int n = o.count - first < kLanes ? static_cast<int>(o.count - first) : kLanes;
    float y[kLanes] = {}, s[kLanes] = {}, up[kLanes] = {}, all[kLanes] = {};
    for (int i = 0; i < n; ++i) {
      const int32_t row = o.row[first + i];
      s[i] = o.scale[first + i] * factor * along[row];
      y[i] = o.scale[first + i] * factor * (at[row] + t * along[row]) + o.offset[first + i];
      up[i] = o.up[first + i];
      all[i] = up[i] + o.down[first + i];
    }
    const Vec sigma = sigmoid(load(y)).value;
    const Vec error = load(up) - load(all) * sigma;
    const Vec step = load(s);
    float out[kLanes];
    store(out, error);
    for (int i = 0; i < n; ++i) residual[first + i] = out[i];
    slope += sum(error * step);
    curvature += sum(load(all) * sigma * (1.0f - sigma) * step * step);
    radial += sum(error * load(y));
  }
  return {slope, curvature, radial};
}

// out = exp(y) for y <= 0; returns the sum.
double exponentials(const float* y, int64_t count, float* out) {
  double total = 0;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec e = exp_negative(load(y + i));
    store(out + i, e);
    total += sum(e);
  }
  for (; i < count; ++i) {
    float e[kLanes];
    store(e, exp_negative(Vec{} + y[i]));
    out[i] = e[0];
    total += e[0];
  }
  return total;
}
