// What the kernels work on: plain data, no functions. The kernels are compiled once an instruction set, so a function
// here would be compiled several times under one name, and the linker could keep the wrong one.
#pragma once

#include <cstdint>

namespace paravec {

enum class Combine : int { Concat, Mean, Sum };
enum class Output : int { Negative, Hs, Softmax };
enum class Part : int { All, Even, Odd };  // targets that count, by their position in the document
enum Purpose : uint32_t {
  DocumentVectors = 1,
  WordVectors = 2,
  OutputWeights = 3,
  DocumentOrder = 4,
  TargetOrder = 5,
  Sample = 6,
  NoiseWords = 7,
  InferenceNoise = 8
};

constexpr int kAlignment = 64;  // rows of U and W start on a cache line ...
constexpr int kRowMultiple = 16;  // ... so their length is a multiple of this many floats, the rest zero
constexpr int kBatchMultiple = 32;  // softmax batches are padded to a multiple of this
constexpr int kHotRows = 64;  // the busiest rows of U, of which each of several threads has a copy
constexpr int64_t kHotTargets = 1024;  // targets after which a thread merges its copy
constexpr float kHotVisits = 2048.0f;  // visits of a row between merges from which on the threads' changes are averaged
constexpr int kChunk = 256;  // targets whose noise is drawn at once; the stop flag is looked at as often
constexpr double kFullEvidence = 50.0;  // targets of a document after which infer_l2 has doubled
constexpr float kNormFloor = 1e-12f;  // added to squared norms under cosine

struct Architecture {
  bool dm;
  int vector_size;
  int word_size;
  int window;
  bool both;
  Combine combine;
  bool pad_all;
  Output output;
  int negative;
  bool cosine;
  float cosine_scale;
  int batch_size;
  bool train_words;
  int slots;  // context words of a full window
  int width;  // the length of h
  int row;    // width, rounded up to kRowMultiple
};

struct Tables {
  int64_t n_words;
  int64_t n_targets;
  const uint32_t* keep;  // null: keep all
  const uint32_t* noise_threshold;
  const int32_t* noise_alias;
  const int64_t* path_offsets;
  const int32_t* path_nodes;
  const uint8_t* path_codes;
};

struct Matrix {
  float* data;
  int64_t stride;
};

struct Parameters {
  Matrix documents;
  Matrix words;
  Matrix outputs;
  float* bias;
  const uint8_t* trainable;  // null: all rows of `words`
};

struct Corpus {
  const int32_t* tokens;
  const int64_t* offsets;
};

struct Key {
  uint32_t low, high;
};

// The sum of log(1 + e) is kept as the logarithm of a product, one multiplication a term.
struct Tally {
  double linear;
  double product;
  int64_t targets;
};

struct Item {  // one target of a softmax batch
  int64_t document;
  int32_t target;
  bool word;  // predicted by a word alone (skip-gram)
  float rate;
};

struct Task {
  Architecture architecture;
  Tables tables;
  Parameters parameters;
  Key sample, target_order, noise;
  bool frozen;  // inference: only the gradient with respect to the document is wanted
  Part part;    // frozen only; training takes them all
  const bool* stop;
};

// The buffers of one thread; training.cpp allocates them.
struct Workspace {
  float* document;       // the document vector (of mean and sum; the others keep it at the head of h)
  float* h;
  float* gradient;       // with respect to h, times the learning rate
  double* document_gradient;  // frozen: summed over the document
  int32_t* kept;         // targets that sub-sampling left, and their positions
  int64_t* positions;
  int64_t* order;
  int32_t* words;        // the words among the kept targets, and where each target stands among them
  int64_t* ranks;
  int32_t* noise;        // kChunk * negative
  int32_t* context;      // slots
  int32_t* rows;         // rows of U of a step
  float* labels;
  float* times;          // how often each was drawn
  bool repeated;         // whether any was drawn more than once
  Tally tally;
  // several threads only: this one's copy of the first rows of U and b, and what they were when they were last merged
  int64_t n_hot;
  float* hot;
  float* hot_before;
  float* hot_bias;
  float* hot_bias_before;
  int64_t* hot_visits;   // how often each was updated since
  // softmax only
  Item* items;
  int32_t* contexts;     // batch * slots
  int filled;
  float* inputs;         // batch x row
  float* inputs_across;  // row x padded batch
  float* input_gradients;
  float* across;         // targets x padded batch: logits, then probabilities, then coefficients
  float* scratch;        // a few padded batches
};

// A document as the kernels see it.
struct Document {
  const int32_t* tokens;
  int64_t length;
  int64_t row;         // of D, or of the vectors of inference; the draws of training are keyed by it
  uint64_t draw_key;   // those of inference by a hash of the tokens
  float rate;
};

// Logits of inference: y = scale * (u_row . d) + offset, wanted `up` times as 1 and `down` times as 0.
struct Occurrences {
  int64_t count;
  int32_t* row;
  float* scale;
  float* offset;
  float* up;
  float* down;
};

struct Slope {
  double slope;
  double curvature;  // positive where the function is concave; 0 where it is not known
  double radial;     // the sum of residual * y
};

struct Kernels {
  const char* name;
  void (*train)(const Task&, Workspace&, const Document&);
  void (*flush)(const Task&, Workspace&);
  void (*occurrences)(const Task&, Workspace&, const Document&, Occurrences&);
  void (*noise)(const Task&, uint64_t document, int64_t first, int64_t step, int64_t count, int32_t* out);
  void (*uniform)(Key, int64_t first, int64_t rows, int columns, float* out, int64_t stride);
  void (*dots)(const float* rows, int64_t stride, int64_t count, int length, const float* x, float* out);
  void (*weighted_sum)(const float* rows, int64_t stride, int64_t count, int length, const float* weights, float* out);
  Slope (*logistic)(const Occurrences&, const float* at, const float* along, float t, float factor, float* residual);
  double (*exponentials)(const float* y, int64_t count, float* out);
};

}  // namespace paravec
