// The published heuristics for filling brokers, plainly, in one thread: GS (Alg. 1) and
// MKPBS (Alg. 2 and 3) of Lambert and Sakellariou, "Allocation of Publisher/Subscriber
// Data Links on a Set of Virtual Machines", IEEE CLOUD 2018. A yardstick for the
// kernels, and a second opinion on what they compute.
//
//     gs_mkpbs FOLDER gs|mkpbs REPEATS
//
// FOLDER holds rates.i64 and pairs.i64 (of each topic) and capacities.i64 (of each
// broker), all little endian and above zero. Pairs weigh one each. Prints JSON: the
// seconds of REPEATS runs in memory, after one that is not counted, and what is
// delivered. Of equals, the lower number always comes first.
//
// Where the print is wrong the code departs from it. GS: when the broker with most room
// cannot take a topic, no broker can, and the topic is dropped. MKPBS: a broker's room
// shrinks with each item it is allotted; topics that got a pair are refilled until
// nothing more fits. The knapsack is over one weight, so it is a largest sum within the
// room: first what comes first, and if that leaves room, by sets of sums as bits.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<int64_t>;

struct Problem {
  Numbers rates, pairs, capacities;
};

struct Run {
  int32_t topic, broker;
  int64_t pairs;
};

// Largest key first, of equals the lowest number.
struct Entry {
  int64_t key;
  int32_t number;
  bool operator<(const Entry& other) const {
    return key < other.key || (key == other.key && number > other.number);
  }
};

static std::vector<Run> gs(const Problem& p) {
  Numbers left = p.pairs;
  std::vector<Entry> by_pairs, by_room;
  for (size_t t = 0; t < left.size(); ++t) by_pairs.push_back({left[t], (int32_t)t});
  for (size_t k = 0; k < p.capacities.size(); ++k)
    by_room.push_back({p.capacities[k], (int32_t)k});
  std::priority_queue<Entry> topics({}, std::move(by_pairs));
  std::priority_queue<Entry> brokers({}, std::move(by_room));
  std::vector<Run> runs;
  while (!topics.empty() && !brokers.empty()) {
    const int32_t t = topics.top().number;
    const Entry broker = brokers.top();
    const int64_t rate = p.rates[t];
    topics.pop();
    if (broker.key < 2 * rate) continue;
    brokers.pop();
    const int64_t put = std::min(left[t], broker.key / rate - 1);
    left[t] -= put;
    runs.push_back({t, broker.number, put});
    const int64_t room = broker.key - rate * (put + 1);
    if (room > 0) brokers.push({room, broker.number});
    if (left[t] > 0) topics.push({left[t], t});
  }
  return runs;
}

static std::vector<int32_t> largest_first(const Numbers& keys) {
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  return order;
}

// Alg. 3: for each broker the items it is allotted. Items come in order.
static std::vector<std::vector<int32_t>> greedy_mkp(std::vector<int32_t> items,
                                                    const Numbers& load,
                                                    const Numbers& rooms) {
  std::vector<std::vector<int32_t>> allotted(rooms.size());
  for (int32_t k : largest_first(rooms)) {
    int64_t room = rooms[k];
    size_t kept = 0;
    for (int32_t item : items) {
      if (load[item] <= room) {
        room -= load[item];
        allotted[k].push_back(item);
      } else {
        items[kept++] = item;
      }
    }
    items.resize(kept);
  }
  return allotted;
}

// Sums with `value` added, to those in a row of bits.
static void shift_in(uint64_t* row, int64_t words, int64_t value) {
  const int64_t whole = value >> 6, part = value & 63;
  for (int64_t w = words - 1; w >= whole; --w) {
    uint64_t shifted = row[w - whole] << part;
    if (part && w > whole) shifted |= row[w - whole - 1] >> (64 - part);
    row[w] |= shifted;
  }
}

// The largest sum within the room of some numbers, each at most so many times; of equal
// choices the one with most of the first, then of the second, ...
static Numbers largest_sum(const Numbers& value, const Numbers& count, int64_t room) {
  const int64_t size = (int64_t)value.size(), words = (room >> 6) + 1;
  Numbers taken(size);
  int64_t left = room;
  bool all = true;
  for (int64_t i = 0; i < size; ++i) {
    taken[i] = std::min(count[i], left / value[i]);
    left -= taken[i] * value[i];
    all = all && taken[i] == count[i];
  }
  if (left == 0 || all) return taken;
  std::vector<uint64_t> rows((size_t)((size + 1) * words));
  rows[size * words] = 1;
  for (int64_t i = size - 1; i >= 0; --i) {
    uint64_t* row = &rows[i * words];
    std::copy_n(row + words, words, row);
    int64_t rest = std::min(count[i], room / value[i]);
    for (int64_t part = 1; rest > 0; rest -= part, part *= 2) {
      part = std::min(part, rest);
      shift_in(row, words, part * value[i]);
    }
  }
  const auto has = [&](int64_t i, int64_t sum) {
    return rows[i * words + (sum >> 6)] >> (sum & 63) & 1;
  };
  int64_t sum = room;
  while (!has(0, sum)) --sum;
  for (int64_t i = 0; i < size; ++i) {
    taken[i] = std::min(count[i], sum / value[i]);
    while (!has(i + 1, sum - taken[i] * value[i])) --taken[i];
    sum -= taken[i] * value[i];
  }
  return taken;
}

struct Filling {
  const Problem& p;
  Numbers left, rooms;
  std::vector<Run> runs;

  explicit Filling(const Problem& problem)
      : p(problem), left(problem.pairs), rooms(problem.capacities) {}

  void put(int32_t topic, int32_t broker, int64_t pairs) {
    left[topic] -= pairs;
    rooms[broker] -= p.rates[topic] * (pairs + 1);
    runs.push_back({topic, broker, pairs});
  }

  // Phase 1. Profit over load is n / (n + 1) for n pairs.
  void place_whole() {
    Numbers load(left.size());
    for (size_t t = 0; t < left.size(); ++t) load[t] = p.rates[t] * (left[t] + 1);
    const auto allotted = greedy_mkp(largest_first(left), load, rooms);
    for (size_t k = 0; k < allotted.size(); ++k)
      for (int32_t t : allotted[k]) put(t, (int32_t)k, left[t]);
  }

  // A round of phase 2; whether anything was allotted.
  bool fill_once() {
    std::vector<int32_t> waiting;
    Numbers keys, load(left.size());
    for (size_t t = 0; t < left.size(); ++t) {
      if (left[t] == 0) continue;
      waiting.push_back((int32_t)t);
      keys.push_back(left[t]);
      load[t] = 2 * p.rates[t];
    }
    std::vector<int32_t> items;
    for (int32_t i : largest_first(keys)) items.push_back(waiting[i]);
    const auto allotted = greedy_mkp(std::move(items), load, rooms);
    bool any = false;
    for (size_t k = 0; k < allotted.size(); ++k) {
      if (allotted[k].empty()) continue;
      any = true;
      fill_broker((int32_t)k, allotted[k]);
    }
    return any;
  }

  void fill_broker(int32_t broker, const std::vector<int32_t>& topics) {
    Numbers value, count;
    int64_t room = rooms[broker];
    for (int32_t t : topics) {
      value.push_back(p.rates[t]);
      count.push_back(left[t]);
      room -= p.rates[t];
    }
    const Numbers taken = largest_sum(value, count, room);
    const size_t first = runs.size();
    for (size_t i = 0; i < topics.size(); ++i)
      if (taken[i] > 0) put(topics[i], broker, taken[i]);
    for (size_t i = first; i < runs.size(); ++i) {
      const int32_t t = runs[i].topic;
      const int64_t more = std::min(left[t], rooms[broker] / p.rates[t]);
      left[t] -= more;
      rooms[broker] -= p.rates[t] * more;
      runs[i].pairs += more;
    }
  }
};

static std::vector<Run> mkpbs(const Problem& p) {
  Filling filling(p);
  filling.place_whole();
  while (filling.fill_once()) {
  }
  return std::move(filling.runs);
}

static Numbers read_array(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  Numbers values((size_t)file.tellg() / sizeof(int64_t));
  file.seekg(0);
  file.read((char*)values.data(), (std::streamsize)(values.size() * sizeof(int64_t)));
  return values;
}

int main(int argc, char** argv) {
  const std::string name = argc == 4 ? argv[2] : "";
  if (name != "gs" && name != "mkpbs") {
    std::fprintf(stderr, "usage: gs_mkpbs FOLDER gs|mkpbs REPEATS\n");
    return 2;
  }
  const std::string folder = argv[1];
  const Problem p{read_array(folder + "/rates.i64"), read_array(folder + "/pairs.i64"),
                  read_array(folder + "/capacities.i64")};
  const int repeats = std::max(1, std::atoi(argv[3]));
  std::vector<double> seconds;
  std::vector<Run> runs;
  for (int i = 0; i <= repeats; ++i) {
    const Clock::time_point start = Clock::now();
    runs = name == "gs" ? gs(p) : mkpbs(p);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  int64_t delivered = 0, served = 0;
  for (const Run& run : runs) {
    delivered += p.rates[run.topic] * run.pairs;
    served += run.pairs;
  }
  std::printf("{\"seconds\": [");
  for (int i = 1; i <= repeats; ++i) std::printf(i > 1 ? ", %.9f" : "%.9f", seconds[i]);
  std::printf("], \"delivered\": %lld, \"pairs\": %lld, \"entries\": %zu}\n",
              (long long)delivered, (long long)served, runs.size());
}
