// Aggregates scores whose signs say something: for and against, gains and
// losses. The extended divergence [IyerBilmes13, sec. 2.3] compares scores with
// an order of the items by how strongly they are felt about, and the sign of
// each: (-1, -2) is far from (2, 1), although both have the same order of
// items.
//
//   example_signed_scores LISTS.csv
//
// A line for each list. Prints the signed order of the mean, which minimises
// the sum of the divergences, and how far each list is from it, as a share of
// its distance from its own order with all signs turned.
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"
#include "examples/library/score_table.h"

namespace sortition {
namespace {

constexpr double kMostScore = 1e100;

// The order by falling |x|, and the signs of x.
SignedOrder SignedOrderOf(const std::vector<double>& x) {
  std::vector<double> sizes;
  SignedOrder order;
  for (const double score : x) {
    sizes.push_back(std::abs(score));
    order.signs.push_back(score < 0 ? -1 : 1);
  }
  order.order = OrderOf(sizes);
  return order;
}

absl::Status Run(const std::string& path) {
  ASSIGN_OR_RETURN(const auto lists,
                   ReadScoreTable(path, -kMostScore, kMostScore));
  const size_t n = lists[0].size();
  std::vector<double> mean(n);
  for (const auto& list : lists) {
    for (size_t i = 0; i < n; ++i) {
      mean[i] += list[i] / static_cast<double>(lists.size());
    }
  }
  const SignedOrder joint = SignedOrderOf(mean);
  std::printf("order");
  for (const uint32_t item : joint.order) {
    std::printf(" %c%u", joint.signs[item] < 0 ? '-' : '+', item);
  }
  // Monotone, as it must be: what an item adds falls with its rank, and is
  // never negative.
  const auto f = CardinalityFunction::Dcg(n, 0);
  std::printf("\n%6s %12s %8s\n", "list", "divergence", "share");
  for (size_t l = 0; l < lists.size(); ++l) {
    ASSIGN_OR_RETURN(const double divergence,
                     ExtendedDivergence(*f, lists[l], joint));
    SignedOrder turned = SignedOrderOf(lists[l]);
    for (int8_t& sign : turned.signs) sign = static_cast<int8_t>(-sign);
    ASSIGN_OR_RETURN(const double most,
                     ExtendedDivergence(*f, lists[l], turned));
    std::printf("%6zu %12.6g %6.1f %%\n", l, divergence,
                most > 0 ? 100 * divergence / most : 0);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_signed_scores LISTS.csv\n");
    return 2;
  }
  const absl::Status status = sortition::Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
