// The published solution, plainly, in one thread: GreedySelectPairs (Alg. 1 and 2) and
// CustomBinPacking (Alg. 4 and 7) of Setty et al., "Cost-Effective Resource Allocation
// for Deploying Pub/Sub on Cloud", ICDCS 2014. A yardstick for the kernels, and a
// second opinion on what they compute.
//
//     gsp_cbp FOLDER MODE TAU CAPACITY BROKER_USD IN_USD OUT_USD
//
// FOLDER holds rates.i64 (of each topic, never rising), offsets.i64 and topics.i32
// (topics[offsets[v]..offsets[v+1]) are those of subscriber v, ascending), all little
// endian. BROKER_USD is the price of a broker for the period, IN_USD and OUT_USD of a
// message received and sent. MODE is how stage 1 is done, always with one result:
//
//   literal  ratios of all topics of a subscriber, the best taken, all ratios again
//   scan     one look at each topic in order of descending rate; pairs in a row
//   grouped  the same, but each pair goes to a vector of its topic at once, so that
//            stage 2 need not group them
//
// Prints JSON. Seconds do not count reading files and check sums; those of grouping
// (putting the pairs of a topic together) are part of stage 2.
//
// Where the print is wrong the code departs from it: a topic new to a broker needs
// twice its rate; the newest broker takes all pairs of a topic if they fit; pairs per
// new broker are floor(capacity / rate) - 1; costs of new brokers are compared with
// costs of spreading, not with the traffic of one of them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;

struct Problem {
  std::vector<int64_t> rates;
  std::vector<int64_t> offsets;
  std::vector<int32_t> topics;
  int64_t tau;
  int64_t capacity;
  double broker_usd, in_usd, out_usd;

  int64_t subscribers() const { return (int64_t)offsets.size() - 1; }
  bool carried(int32_t topic) const {
    return rates[topic] > 0 && rates[topic] <= capacity / 2;
  }
};

struct Pair {
  int32_t topic;
  int32_t subscriber;
};

// What stage 1 leaves behind: pairs in a row, or by topic.
struct Selection {
  std::vector<Pair> pairs;
  std::vector<std::vector<int32_t>> by_topic;
};

struct Run {
  int32_t topic;
  int32_t broker;
  int64_t pairs;
};

struct Packing {
  std::vector<int64_t> room;  // what is left of each broker
  std::vector<Run> runs;
};

static double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What a subscriber must receive: tau, or all that it wants.
static int64_t need(const Problem& p, int64_t v) {
  int64_t total = 0;
  for (int64_t k = p.offsets[v]; k < p.offsets[v + 1] && total < p.tau; ++k)
    total += p.rates[p.topics[k]];
  return std::min(total, p.tau);
}

// Alg. 1: min(1, rate / remaining) / (2 rate), reduced, so that ties are ties.
static double benefit_cost_ratio(int64_t rate, int64_t remaining) {
  return 0.5 / (double)std::max(rate, remaining);
}

template <class Take>
static void select_literally(const Problem& p, Take take) {
  std::vector<double> ratio;
  for (int64_t v = 0; v < p.subscribers(); ++v) {
    const int32_t* topics = p.topics.data() + p.offsets[v];
    const int64_t count = p.offsets[v + 1] - p.offsets[v];
    int64_t remaining = need(p, v);
    ratio.assign(count, 0.0);
    for (int64_t i = 0; i < count; ++i)
      if (p.carried(topics[i]))
        ratio[i] = benefit_cost_ratio(p.rates[topics[i]], remaining);
    while (remaining > 0) {
      // The first of equals: the largest rate, then the lowest id.
      const int64_t best =
          std::max_element(ratio.begin(), ratio.end()) - ratio.begin();
      if (best == count || ratio[best] == 0.0) break;  // out of reach
      take(topics[best], v);
      ratio[best] = 0.0;
      remaining -= p.rates[topics[best]];
      if (remaining <= 0) break;
      for (int64_t i = 0; i < count; ++i)
        if (ratio[i] != 0.0)
          ratio[i] = benefit_cost_ratio(p.rates[topics[i]], remaining);
    }
  }
}

// The same: by descending rate, take what fits in what remains; if something remains
// at the end, the smallest that did not fit, and of equal ones the first.
template <class Take>
static void select_by_scan(const Problem& p, Take take) {
  for (int64_t v = 0; v < p.subscribers(); ++v) {
    int64_t remaining = need(p, v);
    int32_t skipped = -1;
    for (int64_t k = p.offsets[v]; k < p.offsets[v + 1] && remaining > 0; ++k) {
      const int32_t topic = p.topics[k];
      if (!p.carried(topic)) continue;
      if (p.rates[topic] <= remaining) {
        take(topic, v);
        remaining -= p.rates[topic];
      } else if (skipped < 0 || p.rates[topic] < p.rates[skipped]) {
        skipped = topic;
      }
    }
    if (remaining > 0 && skipped >= 0) take(skipped, v);
  }
}

static Selection select_pairs(const Problem& p, const std::string& mode) {
  Selection s;
  if (mode == "grouped") {
    s.by_topic.resize(p.rates.size());
    select_by_scan(p, [&](int32_t t, int64_t v) {
      s.by_topic[t].push_back((int32_t)v);
    });
    return s;
  }
  s.pairs.reserve(p.topics.size());
  const auto keep = [&](int32_t t, int64_t v) {
    s.pairs.push_back({t, (int32_t)v});
  };
  if (mode == "literal") select_literally(p, keep);
  else select_by_scan(p, keep);
  return s;
}

// Subscribers of each topic one after the other; those of t from starts[t].
struct Groups {
  std::vector<int64_t> starts;
  std::vector<int32_t> subscribers;
};

static Groups group_by_topic(const std::vector<Pair>& pairs, size_t topics) {
  Groups g;
  g.starts.assign(topics + 1, 0);
  for (const Pair& pair : pairs) ++g.starts[pair.topic + 1];
  for (size_t t = 0; t < topics; ++t) g.starts[t + 1] += g.starts[t];
  g.subscribers.resize(pairs.size());
  std::vector<int64_t> at(g.starts.begin(), g.starts.end() - 1);
  for (const Pair& pair : pairs) g.subscribers[at[pair.topic]++] = pair.subscriber;
  return g;
}

// Brokers while they are filled, by room: most first, then the lowest number.
class Fleet {
 public:
  Fleet(const Problem& p, Packing& packing) : p_(p), packing_(packing) {}

  bool empty() const { return packing_.room.empty(); }
  int32_t newest() const { return (int32_t)packing_.room.size() - 1; }
  int64_t room(int32_t broker) const { return packing_.room[broker]; }
  int32_t most_free() const { return by_room_.begin()->second; }

  int32_t deploy() {
    packing_.room.push_back(p_.capacity);
    by_room_.insert({-p_.capacity, newest()});
    return newest();
  }

  void put(int32_t topic, int32_t broker, int64_t pairs) {
    by_room_.erase({-packing_.room[broker], broker});
    packing_.room[broker] -= p_.rates[topic] * (1 + pairs);
    by_room_.insert({-packing_.room[broker], broker});
    packing_.runs.push_back({topic, broker, pairs});
  }

  // Alg. 7: whether `pairs` of a topic cost less on the brokers there are, and new
  // ones for the rest, than on new ones alone, or as much with fewer new ones. What
  // is sent costs the same.
  bool cheaper_to_distribute(int32_t topic, int64_t pairs) const {
    const int64_t rate = p_.rates[topic];
    const int64_t per_broker = p_.capacity / rate - 1;
    const int64_t fresh = (pairs + per_broker - 1) / per_broker;
    int64_t existing = 0;
    for (const auto& [minus_room, broker] : by_room_) {
      const int64_t fit = -minus_room / rate - 1;
      if (pairs == 0 || fit < 1) break;
      pairs -= std::min(pairs, fit);
      ++existing;
    }
    const int64_t extra = (pairs + per_broker - 1) / per_broker;
    const double spread_usd = cost(extra, existing + extra, rate);
    const double fresh_usd = cost(fresh, fresh, rate);
    return spread_usd < fresh_usd || (spread_usd == fresh_usd && extra < fresh);
  }

 private:
  double cost(int64_t brokers, int64_t receptions, int64_t rate) const {
    return (double)brokers * p_.broker_usd + (double)(receptions * rate) * p_.in_usd;
  }

  const Problem& p_;
  Packing& packing_;
  std::set<std::pair<int64_t, int32_t>> by_room_;
};

static void place(const Problem& p, Fleet& fleet, int32_t topic, int64_t pairs) {
  const int64_t rate = p.rates[topic];
  if (!fleet.empty() && rate * (1 + pairs) <= fleet.room(fleet.newest())) {
    fleet.put(topic, fleet.newest(), pairs);
    return;
  }
  if (!fleet.empty() && fleet.cheaper_to_distribute(topic, pairs)) {
    while (pairs > 0 && 2 * rate <= fleet.room(fleet.most_free())) {
      const int32_t broker = fleet.most_free();
      const int64_t fit = std::min(pairs, fleet.room(broker) / rate - 1);
      fleet.put(topic, broker, fit);
      pairs -= fit;
    }
  }
  while (pairs > 0) {
    const int64_t fit = std::min(pairs, p.capacity / rate - 1);
    fleet.put(topic, fleet.deploy(), fit);
    pairs -= fit;
  }
}

// Alg. 4 on the number of pairs of each topic: largest outgoing volume first.
static Packing pack(const Problem& p, const std::vector<int64_t>& counts) {
  std::vector<int32_t> order;
  for (size_t t = 0; t < counts.size(); ++t)
    if (counts[t]) order.push_back((int32_t)t);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int64_t x = p.rates[a] * counts[a], y = p.rates[b] * counts[b];
    return x != y ? x > y : a < b;
  });
  Packing packing;
  Fleet fleet(p, packing);
  for (const int32_t topic : order) place(p, fleet, topic, counts[topic]);
  return packing;
}

static std::vector<int64_t> counts_of(const Selection& s, const Groups& g,
                                      size_t topics) {
  std::vector<int64_t> counts(topics);
  for (size_t t = 0; t < topics; ++t)
    counts[t] = s.by_topic.empty() ? g.starts[t + 1] - g.starts[t]
                                   : (int64_t)s.by_topic[t].size();
  return counts;
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The same for the same pairs, in whatever order they are.
static uint64_t check_sum(const Selection& s) {
  const auto term = [](uint64_t t, uint64_t v) { return mixed(v << 32 | t); };
  uint64_t sum = 0;
  for (const Pair& pair : s.pairs) sum += term(pair.topic, pair.subscriber);
  for (size_t t = 0; t < s.by_topic.size(); ++t)
    for (const int32_t v : s.by_topic[t]) sum += term(t, v);
  return sum;
}

template <class T>
static std::vector<T> read_array(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  std::vector<T> values((size_t)file.tellg() / sizeof(T));
  file.seekg(0);
  file.read((char*)values.data(), (std::streamsize)(values.size() * sizeof(T)));
  return values;
}

static void print_result(const Problem& p, const Selection& s, const Packing& packing) {
  int64_t incoming = 0, outgoing = 0, selected = 0;
  for (const Run& run : packing.runs) {
    incoming += p.rates[run.topic];
    outgoing += p.rates[run.topic] * run.pairs;
    selected += run.pairs;
  }
  std::printf("\"loads\": [");
  for (size_t b = 0; b < packing.room.size(); ++b)
    std::printf(b ? ", %lld" : "%lld", (long long)(p.capacity - packing.room[b]));
  std::printf("], \"pairs\": %zu, \"selected\": %lld, \"brokers\": %zu, ",
              p.topics.size(), (long long)selected, packing.room.size());
  std::printf("\"runs\": %zu, \"incoming\": %lld, \"outgoing\": %lld, ",
              packing.runs.size(), (long long)incoming, (long long)outgoing);
  std::printf("\"cost\": %.17g, \"check_sum\": %llu}\n",
              (double)packing.room.size() * p.broker_usd +
                  (double)incoming * p.in_usd + (double)outgoing * p.out_usd,
              (unsigned long long)check_sum(s));
}

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: gsp_cbp FOLDER literal|scan|grouped TAU CAPACITY "
                         "BROKER_USD IN_USD OUT_USD\n");
    return 2;
  }
  const std::string folder = argv[1], mode = argv[2];
  const Problem p{read_array<int64_t>(folder + "/rates.i64"),
                  read_array<int64_t>(folder + "/offsets.i64"),
                  read_array<int32_t>(folder + "/topics.i32"),
                  std::atoll(argv[3]),
                  std::atoll(argv[4]),
                  std::atof(argv[5]),
                  std::atof(argv[6]),
                  std::atof(argv[7])};
  Clock::time_point start = Clock::now();
  const Selection selection = select_pairs(p, mode);
  const double stage1 = seconds_since(start);
  start = Clock::now();
  Groups groups;
  if (mode != "grouped") groups = group_by_topic(selection.pairs, p.rates.size());
  const double grouping = seconds_since(start);
  const Packing packing = pack(p, counts_of(selection, groups, p.rates.size()));
  const double stage2 = seconds_since(start);
  std::printf("{\"mode\": \"%s\", \"stage1_seconds\": %.6f, ", mode.c_str(), stage1);
  std::printf("\"stage2_seconds\": %.6f, \"grouping_seconds\": %.6f, ", stage2,
              grouping);
  print_result(p, selection, packing);
}
