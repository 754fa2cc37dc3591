// Text, vocabulary and the tables over it.
#include <cstring>

#include "../text/fnv.hpp"
#include "../text/ngrams.hpp"
#include "../text/select.hpp"
#include "../tree.hpp"
#include "common.hpp"

namespace paravec {
namespace {

template <class T>
using Numbers = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Numbers<T> numbers(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  return Numbers<T>(kept->data(), {kept->size()}, nb::capsule(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }));
}

Numbers<int32_t> numbers(std::unique_ptr<int32_t[]> values, size_t size) {
  int32_t* data = values.release();
  return Numbers<int32_t>(data, {size}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); }));
}

std::tuple<Numbers<int32_t>, Numbers<int64_t>> arrays(TokenBlock&& block) {
  const size_t size = static_cast<size_t>(block.offsets.back());
  return {numbers(std::move(block.tokens), size), numbers(std::move(block.offsets))};
}

// Runs `work` without the interpreter lock.
template <class Work>
auto unlocked(Work&& work) {
  try {
    nb::gil_scoped_release release;
    return work();
  } catch (const Interruption&) {
    throw nb::python_error();
  }
}

Splitting splitting(const std::string& tokenizer, bool lowercase, bool strip_tags) {
  if (tokenizer != "words" && tokenizer != "whitespace") throw std::invalid_argument("unknown tokenizer " + tokenizer);
  return {tokenizer == "whitespace", lowercase, strip_tags};
}

nb::object text_of(const uint8_t* bytes, size_t size) {
  nb::object text = nb::steal(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(bytes), static_cast<Py_ssize_t>(size), "surrogatepass"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

// A number that settings have checked already, or should have.
template <class T>
T within(const char* name, T value, T least, T most) {
  if (!(value >= least && value <= most)) throw std::invalid_argument(std::string(name) + " is out of range");
  return value;
}
int some(int threads) { return within("threads", threads, 1, 1 << 16); }

// Texts that lie end to end, one from each offset to the next.
struct Column {
  const uint8_t* data;
  const int64_t* at;
  size_t size;

  Column(const Array<const uint8_t>& bytes, const Array<const int64_t>& offsets)
      : data(bytes.data()), at(offsets.data()), size(offsets.shape(0) ? offsets.shape(0) - 1 : 0) {
    const int64_t end = static_cast<int64_t>(bytes.shape(0));
    for (size_t i = 0; i < size; ++i)
      if (at[i] < 0 || at[i] > at[i + 1] || at[i + 1] > end) throw std::invalid_argument("offsets are out of order");
  }
  Span operator[](size_t i) const { return {data + at[i], static_cast<size_t>(at[i + 1] - at[i])}; }
};

// A block of documents, with the Python objects whose memory it points to.
class PyDocuments {
 public:
  Documents documents;

  static PyDocuments lines(nb::bytes data) {
    PyDocuments made;
    const auto* p = reinterpret_cast<const uint8_t*>(data.c_str());
    const uint8_t* const end = p + data.size();
    while (p < end) {
      const void* newline = std::memchr(p, '\n', static_cast<size_t>(end - p));
      const auto* stop = newline ? static_cast<const uint8_t*>(newline) : end;
      made.documents.texts.push_back({p, static_cast<size_t>(stop - p)});
      p = stop + 1;
    }
    made.alive_.push_back(std::move(data));
    return made;
  }

  static PyDocuments texts(nb::list list) {
    PyDocuments made;
    nb::object own = nb::steal(PyList_AsTuple(list.ptr()));  // another thread may change the list meanwhile
    if (!own.is_valid()) throw nb::python_error();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own.ptr()); ++i) made.documents.texts.push_back(made.bytes_of(PyTuple_GET_ITEM(own.ptr(), i)));
    made.alive_.push_back(std::move(own));
    return made;
  }

  static PyDocuments column(Array<const uint8_t> data, Array<const int64_t> offsets) {
    PyDocuments made;
    const Column texts(data, offsets);
    for (size_t i = 0; i < texts.size; ++i) made.documents.texts.push_back(texts[i]);
    made.alive_.push_back(nb::cast(data));
    return made;
  }

  static PyDocuments tokens(nb::list lists) {
    PyDocuments made;
    made.documents.token_offsets.push_back(0);
    for (nb::handle list : lists) {
      nb::object own = nb::steal(PySequence_Tuple(list.ptr()));  // another thread may change the list meanwhile
      if (!own.is_valid()) throw nb::python_error();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own.ptr()); ++i) made.add_token(PyTuple_GET_ITEM(own.ptr(), i));
      made.documents.token_offsets.push_back(static_cast<int64_t>(made.documents.tokens.size() + made.integers_.size()));
      made.alive_.push_back(std::move(own));
    }
    for (const int64_t& value : made.integers_) made.documents.tokens.push_back({reinterpret_cast<const uint8_t*>(&value), 8});
    return made;
  }

 private:
  Span bytes_of(nb::handle object) {
    PyObject* o = object.ptr();
    if (PyUnicode_Check(o)) {
      if (PyUnicode_IS_COMPACT_ASCII(o))
        return {static_cast<const uint8_t*>(PyUnicode_DATA(o)), static_cast<size_t>(PyUnicode_GET_LENGTH(o))};
      nb::object encoded = nb::steal(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
      if (!encoded.is_valid()) throw nb::python_error();
      alive_.push_back(encoded);
      o = encoded.ptr();
    }
    if (!PyBytes_Check(o)) throw nb::type_error("a document is a string or bytes");
    return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(o)), static_cast<size_t>(PyBytes_GET_SIZE(o))};
  }

  void add_token(PyObject* token) {
    if (!PyLong_Check(token)) {
      documents.tokens.push_back(bytes_of(token));
      return;
    }
    const long long value = PyLong_AsLongLong(token);
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    integers_.push_back(value);
  }

  std::vector<nb::object> alive_;
  std::vector<int64_t> integers_;
};

nb::list tokenize(nb::str text, const std::string& tokenizer, bool lowercase, bool strip_tags) {
  Splitter splitter(splitting(tokenizer, lowercase, strip_tags));
  nb::list one, found;
  one.append(text);
  const PyDocuments documents = PyDocuments::texts(one);
  const Span whole = documents.documents.texts[0];
  splitter.split(whole.data, whole.size, [&](const uint8_t* bytes, size_t size) { found.append(text_of(bytes, size)); });
  return found;
}

nb::list unpack(const Array<const uint8_t>& data, const Array<const int64_t>& offsets) {
  const Column texts(data, offsets);
  nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(texts.size)));
  if (!found.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < texts.size; ++i)
    PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(i), text_of(texts[i].data, texts[i].size).release().ptr());
  return found;
}

Numbers<uint64_t> hashes(const Array<const uint8_t>& data, const Array<const int64_t>& offsets) {
  return numbers(unlocked([&] {
    const Column texts(data, offsets);
    std::vector<uint64_t> found(texts.size);
    for (size_t i = 0; i < texts.size; ++i) found[i] = fnv1a(texts[i].data, texts[i].size);
    return found;
  }));
}

WordBlock word_block(const Array<const int32_t>& words, const Array<const int64_t>& offsets) {
  const int64_t documents = static_cast<int64_t>(offsets.shape(0)) - 1;
  const int64_t* at = offsets.data();
  if (documents < 0 || at[0] != 0 || at[documents] != static_cast<int64_t>(words.shape(0)))
    throw std::invalid_argument("offsets do not belong to the tokens");
  for (int64_t i = 0; i < documents; ++i)
    if (at[i] > at[i + 1]) throw std::invalid_argument("offsets are out of order");
  return {words.data(), at, documents};
}

std::tuple<nb::list, Numbers<int64_t>, Numbers<int32_t>> most_frequent(Indexer& indexer, int64_t min_count, int64_t most, bool integers) {
  within<int64_t>("most", most, 0, INT64_MAX);
  const std::vector<Indexer::Entry> entries = unlocked([&] { return indexer.most_frequent(min_count, most, integers); });
  nb::list words;
  std::vector<int64_t> counts;
  std::vector<int32_t> ids(static_cast<size_t>(indexer.numbers()), -1);
  for (const Indexer::Entry& entry : entries) {
    words.append(integers ? nb::object(nb::int_(static_cast<int64_t>(entry.word.a))) : text_of(entry.word.bytes(), entry.word.size));
    ids[static_cast<size_t>(entry.id)] = static_cast<int32_t>(counts.size());
    counts.push_back(entry.count);
  }
  return {words, numbers(std::move(counts)), numbers(std::move(ids))};
}

std::tuple<int64_t, int64_t, int64_t> told(const Indexer::Pruned& pruned) { return {pruned.times, pruned.words, pruned.lost}; }

void bind_words(nb::module_& m) {
  nb::class_<PyDocuments>(m, "Documents")
      .def_static("lines", &PyDocuments::lines)
      .def_static("texts", &PyDocuments::texts)
      .def_static("column", &PyDocuments::column)
      .def_static("tokens", &PyDocuments::tokens)
      .def("__len__", [](const PyDocuments& self) { return self.documents.size(); });

  nb::class_<Indexer>(m, "Indexer")
      .def("__init__",
           [](Indexer* self, const std::string& tokenizer, bool lowercase, bool strip_tags, int threads, int64_t max_unique) {
             within<int64_t>("max_unique", max_unique, 1, INT64_MAX);
             new (self) Indexer(splitting(tokenizer, lowercase, strip_tags), some(threads), max_unique);
           },
           "tokenizer"_a, "lowercase"_a, "strip_tags"_a, "threads"_a, "max_unique"_a)
      .def("add",
           [](Indexer& self, const PyDocuments& documents) {
             return arrays(unlocked([&] { return self.add(documents.documents, signalled); }));
           })
      .def("most_frequent", &most_frequent, "min_count"_a, "most"_a, "integers"_a)
      .def_prop_ro("pruned", [](const Indexer& self) { return told(self.pruned()); });

  nb::class_<Lexicon>(m, "Lexicon")
      .def("__init__",
           [](Lexicon* self, nb::list words) {
             nb::list one;
             one.append(words);
             new (self) Lexicon(PyDocuments::tokens(one).documents.tokens);
           })
      .def("encode",
           [](const Lexicon& self, const PyDocuments& documents, const std::string& tokenizer, bool lowercase, bool strip_tags,
              int threads) {
             const Splitting how = splitting(tokenizer, lowercase, strip_tags);
             return arrays(unlocked([&] { return self.encode(documents.documents, how, some(threads), signalled); }));
           },
           "documents"_a, "tokenizer"_a, "lowercase"_a, "strip_tags"_a, "threads"_a);
}

void bind_ngrams(nb::module_& m) {
  nb::class_<NgramTable>(m, "NgramTable")
      .def("__init__",
           [](NgramTable* self, Array<const int32_t> prefix, Array<const int32_t> last, int32_t first_id) {
             within<int64_t>("first_id", first_id, 0, INT32_MAX - static_cast<int64_t>(prefix.shape(0)));
             if (prefix.shape(0) != last.shape(0)) throw std::invalid_argument("prefix and last differ in length");
             new (self) NgramTable();
             self->reserve(prefix.shape(0));
             for (size_t i = 0; i < prefix.shape(0); ++i)
               self->insert(pair_key(prefix.data()[i], last.data()[i]), first_id + static_cast<int32_t>(i));
           },
           "prefix"_a.noconvert(), "last"_a.noconvert(), "first_id"_a)
      .def("attach",
           [](const NgramTable& self, Array<const int32_t> words, Array<const int64_t> offsets, int longest, int threads) {
             const WordBlock block = word_block(words, offsets);
             within("longest", longest, 1, 1 << 10);
             return arrays(unlocked([&] { return self.attach(block, longest, some(threads), signalled); }));
           },
           "words"_a.noconvert(), "offsets"_a.noconvert(), "longest"_a, "threads"_a);

  nb::class_<NgramCounter>(m, "NgramCounter")
      .def("__init__",
           [](NgramCounter* self, int32_t n_words, int threads, int64_t max_unique) {
             within<int64_t>("max_unique", max_unique, 1, INT64_MAX);
             new (self) NgramCounter(within("n_words", n_words, 0, INT32_MAX), some(threads), max_unique);
           },
           "n_words"_a, "threads"_a, "max_unique"_a)
      .def("add",
           [](NgramCounter& self, Array<const int32_t> words, Array<const int64_t> offsets) {
             const WordBlock block = word_block(words, offsets);
             unlocked([&] { self.add(block, signalled); });
           },
           "words"_a.noconvert(), "offsets"_a.noconvert())
      .def("close",
           [](NgramCounter& self, int64_t floor) {
             NgramCounter::Frequent found = unlocked([&] { return self.close(floor); });
             return std::make_tuple(numbers(std::move(found.keys)), numbers(std::move(found.counts)));
           },
           "floor"_a)
      .def_prop_ro("pruned", [](const NgramCounter& self) { return told(self.pruned()); });
}

}  // namespace

void bind_corpus(nb::module_& m) {
  bind_words(m);
  bind_ngrams(m);
  m.def("tokenize", &tokenize, "text"_a, "tokenizer"_a, "lowercase"_a, "strip_tags"_a);
  m.def("unpack", &unpack, "data"_a.noconvert(), "offsets"_a.noconvert());
  m.def("fnv1a", &hashes, "data"_a.noconvert(), "offsets"_a.noconvert());
  m.def("first_invalid",
        [](nb::bytes data) {
          const auto* p = reinterpret_cast<const uint8_t*>(data.c_str());
          const int64_t size = static_cast<int64_t>(data.size());
          return unlocked([&] { return first_invalid(p, size); });
        },
        "data"_a);
  m.def("first_invalid",
        [](Array<const uint8_t> data) {
          return unlocked([&] { return first_invalid(data.data(), static_cast<int64_t>(data.shape(0))); });
        },
        "data"_a);
  m.def("select",
        [](Array<const int32_t> tokens, Array<const int64_t> offsets, Array<const int32_t> ids, int threads) {
          const WordBlock block = word_block(tokens, offsets);
          const int64_t known = static_cast<int64_t>(ids.shape(0));
          return arrays(unlocked([&] { return select(block, ids.data(), known, some(threads), signalled); }));
        },
        "tokens"_a.noconvert(), "offsets"_a.noconvert(), "ids"_a.noconvert(), "threads"_a);
  m.def("join",
        [](const std::vector<Array<const int32_t>>& arrays, int threads) {
          std::vector<std::pair<const int32_t*, size_t>> parts;
          size_t size = 0;
          for (const auto& array : arrays) {
            parts.emplace_back(array.data(), array.shape(0));
            size += array.shape(0);
          }
          return numbers(unlocked([&] { return join(parts, some(threads), signalled); }), size);
        },
        "arrays"_a, "threads"_a);
  m.def("renumber",
        [](Array<const int32_t> tokens, Array<const int32_t> ids, int threads) {
          const int64_t size = static_cast<int64_t>(tokens.shape(0));
          const int64_t known = static_cast<int64_t>(ids.shape(0));
          std::unique_ptr<int32_t[]> out(new int32_t[tokens.shape(0) + 1]);
          unlocked([&] { renumber(tokens.data(), size, ids.data(), known, out.get(), some(threads), signalled); });
          return numbers(std::move(out), tokens.shape(0));
        },
        "tokens"_a.noconvert(), "ids"_a.noconvert(), "threads"_a);
  m.def("huffman",
        [](Array<const int64_t> counts) {
          if (counts.shape(0) == 0) throw std::invalid_argument("a tree needs a leaf");
          double total = 0;
          for (size_t i = 0; i < counts.shape(0); ++i) total += static_cast<double>(within<int64_t>("a count", counts.data()[i], 0, INT64_MAX));
          within("the sum of counts", total, 0.0, 0x1p62);
          HuffmanPaths paths = unlocked([&] { return huffman(counts.data(), static_cast<int64_t>(counts.shape(0))); });
          return std::make_tuple(numbers(std::move(paths.offsets)), numbers(std::move(paths.nodes)), numbers(std::move(paths.codes)));
        },
        "counts"_a);
  m.def("alias_table",
        [](Array<const double> weights) {
          double total = 0;
          for (size_t i = 0; i < weights.shape(0); ++i) total += within("a weight", weights.data()[i], 0.0, 0x1p62);
          within("the sum of weights", total, 0x1p-62, 0x1p100);
          AliasTable table = unlocked([&] { return alias_table(weights.data(), static_cast<int64_t>(weights.shape(0))); });
          return std::make_tuple(numbers(std::move(table.threshold)), numbers(std::move(table.alias)));
        },
        "weights"_a);
  m.attr("UNICODE_VERSION") = unicode_version();
}

}  // namespace paravec
