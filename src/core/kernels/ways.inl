// dbow with the tree: some targets of one document at a time.
//
// All are predicted by the same vector x, and their ways have nodes in common: the root is on all of them. So a node's product
// with x is found once. From there its visits are steps one after another, in numbers only (a node that learned pull x has a
// product that is greater by pull x.x), and the node and the document learn the sum of them. Visits that want 1 and visits
// that want 0 take turns, as evenly as their numbers allow. engines/side_by_side.py is the definition.

// How many nodes two different ways begin with together.
inline int common_nodes(const Tables& tables, int32_t one, int32_t other) {
  const Leaf &a = tables.leaves[one], &b = tables.leaves[other];
  if (a.turns != b.turns) return __builtin_clzll(a.turns ^ b.turns) + 1;
  int k = 0;
  while (tables.paths[a.first + k] == tables.paths[b.first + k]) ++k;
  return k + 1;
}

inline bool is_left_of(const Tables& tables, int32_t one, int32_t other) {
  if (one == other) return false;
  const int parting = common_nodes(tables, one, other) - 1;
  return tables.paths[tables.leaves[one].first + parting] < tables.paths[tables.leaves[other].first + parting];
}

// Sorted from left to right, ways that have nodes in common are neighbours.
inline void sort_ways(const Tables& tables, Ways& ways, const int32_t* targets) {
  const int n = ways.n;
  uint64_t keys[kMostWays];
  for (int i = 0; i < n; ++i) {
    const Leaf& leaf = tables.leaves[targets[i]];
    keys[i] = leaf.turns | static_cast<uint64_t>(i);
    __builtin_prefetch(tables.paths + leaf.first);
    __builtin_prefetch(tables.paths + leaf.first + kAlignment / 4 - 1);
  }
  for (int i = 0; i < n; ++i) {
    int64_t place = 0;
    for (int k = 0; k < n; ++k) place += keys[k] < keys[i];
    ways.targets[place] = targets[i];
  }
  if (!tables.deep) return;
  for (int i = 1; i < n; ++i)
    for (int k = i; k > 0 && is_left_of(tables, ways.targets[k], ways.targets[k - 1]); --k) {
      const int32_t right = ways.targets[k - 1];
      ways.targets[k - 1] = ways.targets[k];
      ways.targets[k] = right;
    }
}

// The nodes of all ways: those of several, and those of one, with the turn that is taken there.
inline void meet_nodes(const Tables& tables, const Ways& ways, Met& met) {
  int known = 0;  // nodes that a way has in common with the one before it
  met.n_common = met.n_single = 0;
  for (int j = 0; j < ways.n; ++j) {
    const int32_t target = ways.targets[j];
    const int32_t* path = tables.paths + tables.leaves[target].first;
    const int count = static_cast<int>(tables.leaves[target + 1].first - tables.leaves[target].first);
    const bool is_last = j + 1 == ways.n, parts = !is_last && target != ways.targets[j + 1];
    const int stay = parts ? common_nodes(tables, target, ways.targets[j + 1]) : is_last ? 0 : count;
    const int own = known > stay ? known : stay;
    for (int k = own; k < count; k += kLanes) store_integers(met.single + met.n_single + k - own, load_integers(path + k));
    met.n_single += count - own;
    for (int k = known; k < stay; ++k) {
      Common& node = met.common[met.n_common];
      met.open[k] = met.n_common++;
      node.id = path[k] >> 1;
      node.begin = j;
      node.turn = path[k] & 1 ? j : ways.n;
    }
    for (int k = stay; k < known; ++k) met.common[met.open[k]].end = j + 1;
    if (parts) met.common[met.open[stay - 1]].turn = j + 1;
    known = stay;
  }
}

// The nodes of several ways by how many these are, the most visited ones first: then those in a vector have about as many.
inline void order_common(Met& met, int most) {
  int begin[kMostWays + 1] = {};
  for (int i = 0; i < met.n_common; ++i) ++begin[met.common[i].end - met.common[i].begin];
  int at = 0;
  for (int times = most; times > 0; --times) {
    const int count = begin[times];
    begin[times] = at;
    at += count;
  }
  for (int i = 0; i < met.n_common; ++i) met.order[begin[met.common[i].end - met.common[i].begin]++] = i;
}

inline void collect_ways(const Task& task, Workspace& w, Ways& ways, const int32_t* targets) {
  Met& met = w.met;
  sort_ways(task.tables, ways, targets);
  meet_nodes(task.tables, ways, met);
  order_common(met, ways.n);
  for (int i = 0; i < met.n_common; ++i) {
    const Common& node = met.common[met.order[i]];
    const int times = node.end - node.begin, turn = node.turn < node.end ? node.turn : node.end;
    ways.rows[i] = output_row(task, w, node.id, times);
    ways.times[i] = static_cast<float>(times);
    ways.ones[i] = static_cast<float>(turn - node.begin);
  }
  for (int i = 0; i < met.n_single; ++i) ways.rows[met.n_common + i] = output_row(task, w, met.single[i] >> 1);
  for (int i = 0; i < met.n_single; i += kLanes) {
    store(ways.times + met.n_common + i, Vec{} + 1.0f);
    store(ways.ones + met.n_common + i, (load_integers(met.single + i) & 1) != 0 ? Vec{} : Vec{} + 1.0f);
  }
  const int count = met.n_common + met.n_single;  // filled up to whole blocks with what is nobody's
  ways.n_nodes = (count + kBlock - 1) / kBlock * kBlock;
  for (int i = count; i < ways.n_nodes; ++i) ways.rows[i] = w.round.zeros + (i - count) * task.architecture.row;
  for (int i = count; i < ways.n_nodes + kLanes; i += kLanes) store(ways.times + i, Vec{});
}

// From the products of a vector of nodes to what each is pulled by, by all of its visits; `meanwhile` is done once a visit.
// Returns how much of x the gradient gets besides, from what nodes have learned of x on the way.
template <class Work>
inline Vec link_nodes(Workspace& w, Sums& sums, const Ways& ways, int i, Vec x_norm, Work meanwhile) {
  const Vec times = load(ways.times + i), ones = load(ways.ones + i);
  const float rate = ways.lane->document.rate;
  Vec y = load(w.round.products + i), turn = 0.5f * times, pull = {}, more = {};
  const int most = static_cast<int>(ways.times[i]);
  for (int visit = 0; visit < most; ++visit) {
    const auto real = times > static_cast<float>(visit);
    turn += ones;
    const auto up = turn >= times;
    const Vec label = up ? Vec{} + 1.0f : Vec{};
    turn -= up ? times : Vec{};
    y = real ? y : Vec{};
    const Sigmoid<Vec> s = sigmoid(y);
    sums.add(y, label, s.tail, real ? Vec{} + 1.0f : Vec{}, 1);
    const Vec step = real ? rate * (label - s.value) : Vec{};
    meanwhile();
    more += step * pull;
    pull += step;
    y += step * x_norm;
  }
  store(w.round.pulls + i, pull);
  return more;
}

// A visit waits for the one before it; while those of the first nodes wait, products of the others are found. Rows that `next`
// needs are fetched on the way.
inline void learn_ways(const Task& task, Workspace& w, Sums& sums, const Ways& ways, const Ways& next) {
  const int length = task.architecture.row;
  Lane& lane = *ways.lane;
  float* x = lane.vector;
  if (task.bias_column) x[task.architecture.width] = 1.0f;
  int done = 0;
  const auto products_of_some = [&] {
    if (done >= ways.n_nodes) return;
    store_eight(w.round.products + done, dots<kBlock>(ways.rows + done, x, length));
    done += kBlock;
  };
  const Vec x_norm = Vec{} + squared_length(x, length);
  Vec more = {};
  for (int i = 0; i < ways.n_nodes; i += kLanes) {
    while (done < i + kLanes && done < ways.n_nodes) products_of_some();
    more += link_nodes(w, sums, ways, i, x_norm, products_of_some);
  }
  for (int at = 0; at < ways.n_nodes; at += kBlock)
    update<kBlock, false, kBlock>(ways.rows + at, x, at ? lane.gradient : w.round.zeros, lane.gradient, length, w.round.pulls + at,
                         at < next.n_nodes ? next.rows + at : ways.rows + at);
  take_back(lane.gradient, x, length, -sum(more));
  add_row(x, lane.gradient, task.architecture.vector_size);
  w.tally.targets += ways.n;
}

// Trains on some documents, one after another. While some targets learn, the next ones are looked at.
inline void train_by_ways(const Task& task, Workspace& w, const Document* documents, int64_t count) {
  int64_t opened = 0, place = 0;
  Sums sums;
  Lane *lane = &w.lanes[0], *other = &w.lanes[1];
  lane->at = lane->end = 0;
  const auto collect = [&](Ways& ways) {  // false if nothing is left
    if (stopped(task)) return false;
    if (lane->at == lane->end) {  // though its last targets may have to learn yet
      do {
        if (opened == count) return false;
        place += opened ? documents[opened - 1].length : 0;
      } while (!open(task, w, *other, documents[opened++], place));
      Lane* former = lane;
      lane = other;
      other = former;
    }
    const int64_t left = lane->end - lane->at;
    ways.lane = lane;
    ways.n = static_cast<int>(left < kMostWays ? left : kMostWays);
    collect_ways(task, w, ways, lane->targets + lane->at);
    lane->at += ways.n;
    ways.is_last = lane->at == lane->end;
    for (int64_t t = lane->at; t < lane->end && t < lane->at + kMostWays; ++t)
      __builtin_prefetch(task.tables.leaves + lane->targets[t]);
    return true;
  };
  Ways *now = &w.ways[0], *then = &w.ways[1];
  for (bool more = collect(*now); more;) {
    more = collect(*then);
    if (!more) then->n_nodes = 0;
    learn_ways(task, w, sums, *now, *then);
    if (now->is_last) close(task, w, *now->lane);
    Ways* former = now;
    now = then;
    then = former;
  }
  sums.add_to(w.tally);
}
