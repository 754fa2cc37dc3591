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
  InferenceNoise = 8,
  Errors = 10  // 9 is Python's: documents held out
};

constexpr int kAlignment = 64;  // rows of U and W start on a cache line ...
constexpr int kRowMultiple = 16;  // ... so their length is a multiple of this many floats, the rest zero
constexpr int kHalfMultiple = 32;  // ... or of this many, if they have 16 bits each
constexpr int kBatchMultiple = 32;  // softmax batches are padded to a multiple of this
constexpr int64_t kNear = 1 << 16;  // numbers of the busiest rows of U, which need not be fetched ahead
constexpr int kTogether = 4;  // documents that learn together
constexpr int kMostWays = 32;  // of one document through the tree, learned together; a power of two
constexpr uint64_t kTurns = ~uint64_t{kMostWays - 1};  // the turns that a leaf tells; behind them is room for the number of a way
constexpr int kBlock = 5;  // nodes of the tree handled together
constexpr float kLeastError = 0.5f;  // what smaller errors are rounded to at random, or to 0: this at least, 1 at most,
constexpr float kFarthest = 2.0f;    // and so much that a step moves its own logit no farther
constexpr int kDitherPhases = 256;  // places where the numbers begin that a row is rounded by, kRowMultiple apart
constexpr int kStripSteps = 16;  // of concat, until its input goes back to the beginning of its strip
constexpr int kChunk = 256;  // steps whose noise is drawn at once; the stop flag is looked at as often
constexpr int kPrefetched = 2048;  // numbers of a row that are fetched ahead; the processor finds the rest
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
  bool by_ways;  // dbow with the tree: some targets of one document are learned together
  bool draw_errors;  // dm: most small errors are rounded to 0, some to 1
  bool half;  // with drawn errors: rows of U are bfloat16 in training
  int slots;  // context words of a full window
  int width;  // the length of h
  int row;    // of U: width, rounded up; hs trains its bias in the column behind `width`
  int word_row;  // of W: word_size, rounded up
};

// Where the path of a target begins, and its codes, the first in the highest bit, as many as kTurns has room for.
struct Leaf {
  int64_t first;
  uint64_t turns;
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
  const int32_t* paths;  // training: both in one, 2 node + code, and some zeros behind the last
  const Leaf* leaves;    // training: one a target, and one behind the last
  bool deep;             // whether some paths are longer than their leaves tell
};

// Rows of floats; or of bfloat16, two in the place of a float (kernels/spans.inl), which `stride` counts.
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
  Key sample, target_order, noise, errors;
  bool bias_column;  // hs in training
  bool frozen;  // inference: only the gradient with respect to the document is wanted
  Part part;    // frozen only; training takes them all
  const bool* stop;
};

// A document as the kernels see it.
struct Document {
  const int32_t* tokens;
  int64_t length;
  int64_t row;         // of D, or of the vectors of inference; the draws of training are keyed by it
  uint64_t draw_key;   // those of inference by a hash of the tokens, or all the same
  float rate;
};

// A document in training, and the step it is at.
struct Lane {
  bool active;
  Document document;
  const int32_t* targets;  // what sub-sampling left; dbow without words: in the order of its visits
  int64_t count;
  int64_t begin, at, end;  // the steps; with skip-gram, places in `order`
  float* vector;           // the document; mean and sum: with the words of its window added
  float* gradient;
  float* h;                // concat: the input, on its way; skip-gram with a bias: the word and 1
  const float* x;          // what predicts the target: h = scale x
  float scale;
  int32_t* context;        // slots
  uint32_t* numbers;       // drawn errors: of four steps, a vector's most each
  // skip-gram only: the order of the targets, the words among them, and where each target stands among those
  int64_t* order;
  int32_t* words;
  int64_t* ranks;
  int64_t n_words;
  int slot;                // the context word that predicts; all slots: the document does
  // concat only
  float* strip;            // where in `h` the input is now
  int64_t strip_step;      // and of which step
  // windows
  float* entered;          // words as they were when they entered it
  // mean and sum only
  float* history;          // how far the document had moved at the last steps
  int n_context;           // words in the window
  int n_moving;            // those of them that are trained
};

// Rows on a path that is needed next, those behind the first `near` to be fetched.
struct Ahead {
  int count, near;
  const float* const* rows;
};

// A target each of up to kTogether lanes, and the rows of U they need: lists of `apart` places a lane.
struct Round {
  int apart;
  const float* x[kTogether];
  const float* seen[kTogether];  // what rows of U are multiplied by: x, or, if they are of bfloat16,
  float* packed[kTogether];      // x rounded to the nearest such numbers
  float* gradients[kTogether];
  int32_t targets[kTogether];
  float rates[kTogether];
  float scales[kTogether];
  float x_norms[kTogether];  // cosine: squared
  float least[kTogether];    // drawn errors: what smaller ones are rounded to
  float leans[kTogether];    // cosine: how much of itself x loses
  int counts[kTogether];     // rows of each list
  int32_t* ids;
  float* labels;
  float* times;
  int most_times;            // the largest of them
  float* products;
  float* norms;              // cosine: squared lengths of rows
  float* pulls;
  float* backs;              // cosine: how much of itself a row loses
  float* chances;            // drawn errors: what each is measured by
  const uint32_t* dither[kTogether];  // rows of bfloat16: what they are rounded by
  float** learners;          // drawn errors: rows of one document that learn, and their pulls
  float* learned;
  float** rows;              // negative: of each lane's target; hs: of all pairs
  float* zeros;              // rows for pairs that are none
  // negative: the noise words
  int n_common;
  float** common;
  int32_t* words;
  int* drawn;                // how often each
  int* places;               // and where first
  const float** next;        // rows to be fetched: noise words of the next round,
  const float** next_own;    // targets of the documents after these
  // hs: blocks
  int n_blocks;
  int block_of[kTogether + 1];  // the first of each lane
  int* begin_of;
  int* lane_of;
  const float** before;      // the gradient so far
  int lengths[kTogether];    // nodes of each path
  int near[kTogether];       // and how many of them need not be fetched
  Ahead ahead;               // of a document after these,
  const float** rows_ahead;  // and its rows
};

// Some targets of one document, and the nodes on their ways through the tree, each once.
struct Ways {
  Lane* lane;
  int n;                 // targets
  bool is_last;          // of the document
  int32_t* targets;      // the ways from left to right
  int n_nodes;           // and zeros up to a whole block
  float** rows;
  float* times;          // how many of the ways go through a node, the most visited ones first
  float* ones;           // and how many of these should find 1 there
};

// A node of several ways that are neighbours, from the first to the one before `end`; those before `turn` find 1 there.
struct Common {
  int32_t id;
  int begin, turn, end;
};

// Nodes as they are met on those ways.
struct Met {
  int n_common, n_single;
  Common* common;
  int32_t* single;       // 2 node + code
  int32_t* open;         // which one of the common ones is at each depth of a way
  int32_t* order;        // of the common ones
};

// A thread's copies of rows of U or W: of the first ones, which are the busy ones, with what they were when they were last
// merged; or of all that it needs, in the order in which it met them.
struct Copies {
  int64_t count;
  float* rows;
  float* before;
  int64_t* visits;       // how often each was used since; behind them, how often others were
  int32_t* places;       // null, or where the copy of each row is; -1 if there is none yet
  int32_t* ids;          // and the other way round
};

// The buffers of one thread; buffers.cpp allocates them.
struct Workspace {
  Tally tally;
  int32_t* noise;        // kChunk * negative
  Round round;
  // training
  uint32_t* dither;      // rows of bfloat16: what they are rounded by, kDitherPhases times kRowMultiple, over and over
  int n_lanes;
  Lane* lanes;
  Lane** active;
  Ways ways[2];          // dbow with the tree
  Met met;
  int32_t* kept;         // room for the targets of all documents trained side by side, and what skip-gram needs of them
  int64_t* order;
  int32_t* words;
  int64_t* ranks;
  Copies outputs, words_copied;  // of U and W, if there are several threads
  // frozen only
  float* document;
  float* h;
  float* gradient;       // with respect to h
  double* document_gradient;  // summed over the document
  int32_t* context;      // slots
  int32_t* rows;         // rows of U of a step
  float* labels;
  float* times;          // how often each was drawn
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

// What is done with whole rows of so many numbers, of floats or of bfloat16.
struct RowKernels {
  void (*difference)(const float* now, const float* before, int64_t length, float* out);
  void (*add)(float* row, const float* change, int64_t length, float weight, const uint32_t* dither);
  void (*merge)(float* shared, float* mine, float* before, int64_t length, float weight, const uint32_t* dither);
};

struct Kernels {
  const char* name;
  void (*train)(const Task&, Workspace&, const Document* documents, int64_t count);
  void (*flush)(const Task&, Workspace&);
  void (*gradient)(const Task&, Workspace&, const Document&);
  void (*occurrences)(const Task&, Workspace&, const Document&, Occurrences&);
  void (*noise)(const Task&, uint64_t document, int64_t first, int64_t step, int64_t count, int32_t* out);
  void (*uniform)(Key, int64_t first, int64_t rows, int columns, float* out, int64_t stride);
  void (*dots)(const float* rows, int64_t stride, int64_t count, int length, const float* x, float* out);
  void (*weighted_sum)(const float* rows, int64_t stride, int64_t count, int length, const float* weights, float* out);
  Slope (*logistic)(const Occurrences&, const float* at, const float* along, float t, float factor, float* residual);
  double (*exponentials)(const float* y, int64_t count, float* out);
  RowKernels rows, half_rows;
  float (*pack)(const float* row, int64_t length, float* to);
  void (*unpack)(const float* row, int64_t length, float* to);
};

}  // namespace paravec
