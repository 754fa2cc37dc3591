// Training, inference and scores.
#include <algorithm>
#include <cstring>
#include <vector>

#include "../dispatch.hpp"
#include "../draws.hpp"
#include "../inference.hpp"
#include "../training.hpp"
#include "common.hpp"

namespace paravec {
namespace {

Matrix matrix(const std::optional<Table<float>>& table) {
  if (!table) return {nullptr, 0};
  if (table->shape(1) > 1 && table->stride(1) != 1) throw std::invalid_argument("rows must be contiguous");
  return {table->data(), table->stride(0)};
}

template <class T>
T* data(const std::optional<Array<T>>& array) {
  return array ? array->data() : nullptr;
}

Matrix aligned(const std::optional<Table<float>>& table) {
  const Matrix m = matrix(table);
  if (m.data && table->shape(0) > 1 && (m.stride % kRowMultiple != 0 || reinterpret_cast<uintptr_t>(m.data) % kAlignment != 0))
    throw std::invalid_argument("rows must be padded and aligned");
  return m;
}

int padded(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

// The numbers of a row of bfloat16 for so many, which is shorter than the row of floats that it stands for.
int half_row(const Table<float>& outputs, int64_t numbers) {
  const int row = padded(static_cast<int>(numbers), kHalfMultiple);
  if (outputs.stride(0) < row / 2) throw std::invalid_argument("rows must have room for a bias");
  return row;
}

struct Arrays {
  std::optional<Table<float>> documents, words, outputs;
  std::optional<Array<float>> bias;
  std::optional<Array<const uint8_t>> trainable;
  std::optional<Array<const uint32_t>> keep, noise_threshold;
  std::optional<Array<const int32_t>> noise_alias, path_nodes;
  std::optional<Array<const int64_t>> path_offsets;
  std::optional<Array<const uint8_t>> path_codes;
  int64_t n_words, n_targets;
};

Task make_task(const Architecture& architecture, const Arrays& a) {
  Task task{};
  task.architecture = architecture;
  task.tables = {a.n_words,
                 a.n_targets,
                 data(a.keep),
                 data(a.noise_threshold),
                 data(a.noise_alias),
                 data(a.path_offsets),
                 data(a.path_nodes),
                 data(a.path_codes),
                 nullptr,
                 nullptr,
                 false};
  task.parameters = {matrix(a.documents), aligned(a.words), aligned(a.outputs), data(a.bias), data(a.trainable)};
  if (architecture.half) {
    task.architecture.row = half_row(a.outputs.value(), architecture.width + (a.bias ? 1 : 0));
    task.parameters.outputs.stride = task.architecture.row / 2;
  }
  return task;
}

// Token ids address rows of the model's arrays, so none is believed.
bool known(const int32_t* first, const int32_t* end, const Arrays& arrays) {
  bool good = true;
  for (; first < end; ++first) good &= *first >= 0 && *first < arrays.n_targets;
  return good;
}

void check_tokens(const Array<const int32_t>& tokens, const Arrays& arrays) {
  if (!known(tokens.data(), tokens.data() + tokens.shape(0), arrays))
    throw std::invalid_argument("the corpus has token ids that the model does not know");
}

// A pass may visit a few of very many documents, so only theirs are looked at.
void check_visited(const Array<const int32_t>& tokens, const Array<const int64_t>& offsets, const Array<const int64_t>& order,
                   const Arrays& arrays) {
  const int64_t documents = static_cast<int64_t>(offsets.shape(0)) - 1;
  const int64_t end = static_cast<int64_t>(tokens.shape(0));
  bool good = true;
  for (size_t i = 0; i < order.shape(0) && good; ++i) {
    const int64_t d = order.data()[i];
    good = d >= 0 && d < documents && 0 <= offsets.data()[d] && offsets.data()[d] <= offsets.data()[d + 1] &&
           offsets.data()[d + 1] <= end &&
           known(tokens.data() + offsets.data()[d], tokens.data() + offsets.data()[d + 1], arrays);
  }
  if (!good) throw std::invalid_argument("the pass has documents that the corpus does not have, or token ids that the model does not know");
}

std::tuple<double, int64_t> train_pass(const Architecture& architecture, const Arrays& arrays, Array<const int32_t> tokens,
                                       Array<const int64_t> offsets, uint64_t seed, uint32_t epoch, Array<const int64_t> order,
                                       Array<const float> rates, int threads, bool deterministic, const std::string& kernels) {
  check_visited(tokens, offsets, order, arrays);
  const Task task = make_task(architecture, arrays);
  const Kernels& chosen = kernels_named(kernels);
  const Pass pass = {seed, epoch, order.data(), rates.data(), static_cast<int64_t>(order.shape(0))};
  Result result;
  {
    nb::gil_scoped_release release;
    result = train(chosen, task, {tokens.data(), offsets.data()}, pass, threads, deterministic, signalled);
  }
  if (result.interrupted) throw nb::python_error();
  return {result.objective, result.targets};
}

void infer_all(const Architecture& architecture, const Arrays& arrays, Array<const int32_t> tokens, Array<const int64_t> offsets,
               const Inference& how, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, int threads,
               const std::string& kernels) {
  check_tokens(tokens, arrays);
  const Task task = make_task(architecture, arrays);
  const Kernels& chosen = kernels_named(kernels);
  bool complete;
  {
    nb::gil_scoped_release release;
    complete = infer(chosen, task, {tokens.data(), offsets.data()}, static_cast<int64_t>(offsets.shape(0)) - 1,
                     how, out.data(), threads, signalled);
  }
  if (!complete) throw nb::python_error();
}

std::tuple<double, int64_t> score_all(const Architecture& architecture, const Arrays& arrays, Array<const int32_t> tokens,
                                      Array<const int64_t> offsets, const Inference& how,
                                      nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> vectors, int threads,
                                      const std::string& kernels) {
  check_tokens(tokens, arrays);
  const Task task = make_task(architecture, arrays);
  const Kernels& chosen = kernels_named(kernels);
  const int64_t count = static_cast<int64_t>(offsets.shape(0)) - 1;
  if (static_cast<int64_t>(vectors.shape(0)) != count || static_cast<int>(vectors.shape(1)) != architecture.vector_size)
    throw std::invalid_argument("there must be a vector for each document, of the model's length");
  Result result;
  {
    nb::gil_scoped_release release;
    result = score(chosen, task, {tokens.data(), offsets.data()}, count, how, vectors.data(), threads, signalled);
  }
  if (result.interrupted) throw nb::python_error();
  return {result.objective, result.targets};
}

// Pages that hold zeros only, and that nobody has written to, take no memory.
void put(const std::vector<float>& from, int64_t count, float* to) {
  const size_t bytes = count * sizeof(float);
  if (std::memcmp(from.data(), to, bytes) != 0) std::memcpy(to, from.data(), bytes);
}

// Rows of U, each with its bias behind the last column, to rows of bfloat16, which lie one behind the other where the first
// rows of floats were; and back.
void pack_outputs(Table<float> outputs, std::optional<Array<float>> bias, const std::string& kernels) {
  const Kernels& chosen = kernels_named(kernels);
  const Matrix m = aligned(outputs);
  const int64_t rows = outputs.shape(0), columns = outputs.shape(1), length = half_row(outputs, columns + (bias ? 1 : 0));
  std::vector<float> row(length), half(length / 2);
  nb::gil_scoped_release release;
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(row.data(), m.data + i * m.stride, columns * sizeof(float));
    if (bias) row[columns] = bias->data()[i];
    chosen.pack(row.data(), length, half.data());
    put(half, length / 2, m.data + i * length / 2);
  }
}

void unpack_outputs(Table<float> outputs, std::optional<Array<float>> bias, const std::string& kernels) {
  const Kernels& chosen = kernels_named(kernels);
  const Matrix m = aligned(outputs);
  const int64_t rows = outputs.shape(0), columns = outputs.shape(1), length = half_row(outputs, columns + (bias ? 1 : 0));
  std::vector<float> row(std::max(length, m.stride));
  nb::gil_scoped_release release;
  for (int64_t i = rows - 1; i >= 0; --i) {
    chosen.unpack(m.data + i * length / 2, length, row.data());
    if (bias) bias->data()[i] = row[columns];
    std::fill(row.begin() + columns, row.end(), 0.0f);
    put(row, m.stride, m.data + i * m.stride);
  }
}

void fill_uniform(uint64_t seed, uint32_t purpose, bool dm, Table<float> out, const std::string& kernels) {
  const Kernels& chosen = kernels_named(kernels);
  const Matrix m = matrix(out);
  const int64_t rows = static_cast<int64_t>(out.shape(0));
  const int columns = static_cast<int>(out.shape(1));
  const Key key = stream(seed, static_cast<Purpose>(purpose), 0, dm);
  nb::gil_scoped_release release;
  chosen.uniform(key, 0, rows, columns, m.data, m.stride);
}

void fill_order(uint64_t seed, uint32_t epoch, bool dm, Array<int64_t> out) {
  nb::gil_scoped_release release;
  document_order(seed, epoch, dm, out.data(), static_cast<int64_t>(out.shape(0)));
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::enum_<Combine>(m, "Combine").value("concat", Combine::Concat).value("mean", Combine::Mean).value("sum", Combine::Sum);
  nb::enum_<Output>(m, "Output").value("negative", Output::Negative).value("hs", Output::Hs).value("softmax", Output::Softmax);
  nb::enum_<Part>(m, "Part").value("all", Part::All).value("even", Part::Even).value("odd", Part::Odd);

  nb::class_<Architecture>(m, "Architecture")
      .def("__init__",
           [](Architecture* self, bool dm, int vector_size, int word_size, int window, bool both, Combine combine, bool pad_all,
              Output output, int negative, bool cosine, float cosine_scale, int batch_size, bool train_words, bool by_ways, bool draw_errors,
              bool half, int slots, int width) {
             new (self) Architecture{dm,       vector_size, word_size,    window,     both,        combine, pad_all, output,
                                     negative, cosine,      cosine_scale, batch_size, train_words, by_ways, draw_errors, half, slots, width,
                                     padded(width, kRowMultiple), padded(word_size, kRowMultiple)};
           },
           "dm"_a, "vector_size"_a, "word_size"_a, "window"_a, "both"_a, "combine"_a, "pad_all"_a, "output"_a, "negative"_a,
           "cosine"_a, "cosine_scale"_a, "batch_size"_a, "train_words"_a, "by_ways"_a, "draw_errors"_a, "half"_a, "slots"_a, "width"_a);

  nb::class_<Arrays>(m, "Arrays")
      .def("__init__",
           [](Arrays* self, std::optional<Table<float>> documents, std::optional<Table<float>> words,
              std::optional<Table<float>> outputs, std::optional<Array<float>> bias,
              std::optional<Array<const uint8_t>> trainable, std::optional<Array<const uint32_t>> keep,
              std::optional<Array<const uint32_t>> noise_threshold, std::optional<Array<const int32_t>> noise_alias,
              std::optional<Array<const int64_t>> path_offsets, std::optional<Array<const int32_t>> path_nodes,
              std::optional<Array<const uint8_t>> path_codes, int64_t n_words, int64_t n_targets) {
             new (self) Arrays{documents,   words,      outputs,      bias,       trainable, keep,   noise_threshold,
                               noise_alias, path_nodes, path_offsets, path_codes, n_words,   n_targets};
           },
           "documents"_a.noconvert().none(), "words"_a.noconvert().none(), "outputs"_a.noconvert().none(),
           "bias"_a.noconvert().none(), "trainable"_a.none(), "keep"_a.none(),
           "noise_threshold"_a.none(), "noise_alias"_a.none(), "path_offsets"_a.none(), "path_nodes"_a.none(),
           "path_codes"_a.none(), "n_words"_a, "n_targets"_a);

  nb::class_<Inference>(m, "Inference")
      .def("__init__",
           [](Inference* self, uint64_t seed, double tol, int max_iter, double l2, Part part, bool common) {
             new (self) Inference{seed, tol, max_iter, l2, part, common};
           },
           "seed"_a, "tol"_a, "max_iter"_a, "l2"_a, "part"_a, "common"_a);

  m.def("train", &train_pass, "architecture"_a, "arrays"_a, "tokens"_a, "offsets"_a, "seed"_a, "epoch"_a, "order"_a, "rates"_a,
        "threads"_a, "deterministic"_a = false, "kernels"_a = "");
  m.def("infer", &infer_all, "architecture"_a, "arrays"_a, "tokens"_a, "offsets"_a, "how"_a, "out"_a, "threads"_a,
        "kernels"_a = "");
  m.def("score", &score_all, "architecture"_a, "arrays"_a, "tokens"_a, "offsets"_a, "how"_a, "vectors"_a, "threads"_a,
        "kernels"_a = "");
  m.def("fill_uniform", &fill_uniform, "seed"_a, "purpose"_a, "dm"_a, "out"_a, "kernels"_a = "");
  m.def("fill_order", &fill_order, "seed"_a, "epoch"_a, "dm"_a, "out"_a.noconvert());
  m.def("pack_outputs", &pack_outputs, "outputs"_a.noconvert(), "bias"_a.noconvert().none(), "kernels"_a = "");
  m.def("unpack_outputs", &unpack_outputs, "outputs"_a.noconvert(), "bias"_a.noconvert().none(), "kernels"_a = "");
  m.def("available_kernels", &available_kernels);
  m.attr("ROW_MULTIPLE") = kRowMultiple;
  m.attr("HALF_MULTIPLE") = kHalfMultiple;
  m.attr("ALIGNMENT") = kAlignment;
}

}  // namespace paravec
