#include "common.hpp"

NB_MODULE(_core, m) {
  paravec::bind_engine(m);
  paravec::bind_corpus(m);
}
