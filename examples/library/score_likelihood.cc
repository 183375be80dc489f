// How probable are these scores? Fits p(x | θ, σ) = exp(-θ d(x‖σ)) / Z(θ), a
// density over scores in [0, 1]^n [IyerBilmes13, eq. 20], and chooses θ by the
// likelihood of lists that it has not seen.
//
//   example_score_likelihood LISTS.csv
//
// A line for each list, 2 to 7 scores within [0, 1]. Lines 1, 3, .. give the
// order σ, that of their mean, which is the most likely one for every θ; lines
// 2, 4, .. are held out. θ = 0 is no agreement at all: every list is equally
// likely, with log-density 0.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <vector>

#include "core/aggregation/aggregate.h"
#include "core/aggregation/score_normaliser.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/parallel.h"
#include "examples/library/score_table.h"

namespace sortition {
namespace {

constexpr double kThetas[] = {0, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128};
constexpr size_t kMostScores = 7;  // Up to here Z is exact.

struct LogDensity {
  double mean = 0;
  double standard_error = 0;
};

// Of the lists with this rest modulo 2.
LogDensity MeanLogDensity(const std::vector<double>& divergences, size_t rest,
                          double theta, double z) {
  double sum = 0, squares = 0, count = 0;
  for (size_t i = rest; i < divergences.size(); i += 2) {
    const double value = -theta * divergences[i] - std::log(z);
    sum += value;
    squares += value * value;
    ++count;
  }
  const double mean = sum / count;
  const double variance = std::max(0.0, squares / count - mean * mean);
  return {mean, std::sqrt(variance / count)};
}

absl::Status Run(const std::string& path) {
  ASSIGN_OR_RETURN(const auto lists, ReadScoreTable(path, 0, 1));
  const size_t n = lists[0].size();
  if (n > kMostScores) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": lists have ", n, " scores, must have 2 to ", kMostScores));
  }
  std::vector<double> seen;
  for (size_t i = 0; i < lists.size(); i += 2) {
    seen.insert(seen.end(), lists[i].begin(), lists[i].end());
  }
  const Order order =
      Aggregate({seen, n, {}}, ScoreScale::kNone, SerialFor).order;
  const auto f = CardinalityFunction::AllPairs(n);
  std::vector<double> divergences;
  for (const auto& list : lists) {
    divergences.push_back(f->Divergence(list, order));
  }
  LogDensity of_seen[std::size(kThetas)], held_out[std::size(kThetas)];
  size_t best = 0;
  for (size_t t = 0; t < std::size(kThetas); ++t) {
    ASSIGN_OR_RETURN(const Normaliser z,
                     ScoreNormaliser(*f, kThetas[t], /*samples=*/0, 1));
    of_seen[t] = MeanLogDensity(divergences, 0, kThetas[t], z.value);
    held_out[t] = MeanLogDensity(divergences, 1, kThetas[t], z.value);
    if (held_out[t].mean > held_out[best].mean) best = t;
  }
  std::printf("order");
  for (const uint32_t item : order) std::printf(" %u", item);
  std::printf("\n  %8s %12s %12s %12s\n", "theta", "log p seen", "held out",
              "std. error");
  for (size_t t = 0; t < std::size(kThetas); ++t) {
    std::printf("%c %8g %12.5f %12.5f %12.5f\n", t == best ? '*' : ' ',
                kThetas[t], of_seen[t].mean, held_out[t].mean,
                held_out[t].standard_error);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_score_likelihood LISTS.csv\n");
    return 2;
  }
  const absl::Status status = sortition::Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
