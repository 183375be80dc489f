#include "server/models/self_test.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint32_t kTestCandidates = 4;
constexpr int kDraws = 2000;
constexpr double kSumTolerance = 1e-9;
// Other features stay zero, so that the test of a wide model costs no more.
constexpr uint32_t kMaxColumns = 1024;

Hash128 TestKey(uint64_t number) {
  return DecisionKey("self-test", 0, absl::StrCat(number));
}

// kTestCandidates compressed rows, each with at most kMaxColumns evenly spaced
// columns.
struct TestFeatures {
  std::vector<uint32_t> row_offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  uint32_t num_features = 1;

  Candidates view() const {
    return Candidates::SparseUnchecked(row_offsets, columns, values,
                                       num_features);
  }
};

TestFeatures MakeFeatures(const LinearPolicy& policy) {
  TestFeatures features;
  features.num_features = std::max(1u, policy.num_features());
  const uint32_t step = (features.num_features - 1) / kMaxColumns + 1;
  RandomSequence random(TestKey(0));
  for (uint32_t row = 0; row < kTestCandidates; ++row) {
    for (uint32_t column = 0; column < features.num_features; column += step) {
      features.columns.push_back(column);
      features.values.push_back(static_cast<float>(random.Normal()));
    }
    features.row_offsets.push_back(
        static_cast<uint32_t>(features.columns.size()));
  }
  return features;
}

// Returns how unequal the candidates are: the difference between the largest
// and the smallest log-probability of one candidate; for subsets the largest
// absolute log-odds of membership.
double Spread(const LinearPolicy& policy, const TestFeatures& features) {
  if (policy.action_kind() == ActionKind::kSubset) {
    const PolicyQuery query = {
        features.view(), {}, policy.takes_size() ? 2u : 0u};
    double largest = 0;
    for (const double p : policy.FirstProbabilities(query, nullptr)) {
      largest = std::max(largest, std::abs(std::log(p) - std::log1p(-p)));
    }
    return largest;
  }
  const PolicyQuery query = {features.view(), {}, 1};
  PolicyWorkspace workspace;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (int32_t i = 0; i < static_cast<int32_t>(kTestCandidates); ++i) {
    const double value =
        policy.LogPropensity(query, std::span(&i, 1), &workspace);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high - low;
}

// Scales the features until the most and the least probable candidate differ by
// a factor of at most e², so that every action is seen among the draws. Works
// in steps, because a mixture hides how far apart the scores are.
void Temper(const LinearPolicy& policy, TestFeatures* features) {
  constexpr double kSpread = 2;
  constexpr double kStep = 0.125;
  constexpr int kMaxSteps = 40;  // 8^-40: enough for α = 1e6 and any weight.
  for (int i = 0; i < kMaxSteps && !(Spread(policy, *features) <= kSpread);
       ++i) {
    for (float& value : features->values) {
      value = static_cast<float>(value * kStep);
    }
  }
}

// Appends all subsets of `size` members; 0: all subsets.
void AppendSubsets(std::span<const int32_t> eligible, uint32_t size,
                   std::vector<Action>* subsets) {
  for (uint32_t bits = 0; bits < 1u << eligible.size(); ++bits) {
    if (size > 0 && std::popcount(bits) != static_cast<int>(size)) continue;
    Action& subset = subsets->emplace_back();
    for (size_t i = 0; i < eligible.size(); ++i) {
      if ((bits >> i & 1) != 0) subset.push_back(eligible[i]);
    }
  }
}

// Returns every action of `policy` on the query.
std::vector<Action> AllActions(const LinearPolicy& policy,
                               const PolicyQuery& query) {
  std::vector<int32_t> eligible;
  for (int32_t i = 0; i < static_cast<int32_t>(kTestCandidates); ++i) {
    if (query.eligible.empty() || query.eligible[static_cast<size_t>(i)]) {
      eligible.push_back(i);
    }
  }
  std::vector<Action> actions;
  if (policy.action_kind() == ActionKind::kSelect) {
    for (const int32_t i : eligible) actions.push_back({i});
    if (policy.can_abstain()) actions.push_back({kAbstain});
    return actions;
  }
  if (policy.action_kind() == ActionKind::kSubset) {
    AppendSubsets(eligible, query.top_k, &actions);
    return actions;
  }
  // Permutations come in lexicographic order: equal prefixes are adjacent.
  do {
    Action prefix(eligible.begin(),
                  eligible.begin() + static_cast<ptrdiff_t>(std::min<size_t>(
                                         query.top_k, eligible.size())));
    if (actions.empty() || actions.back() != prefix) actions.push_back(prefix);
  } while (std::next_permutation(eligible.begin(), eligible.end()));
  return actions;
}

absl::Status CheckQuery(const LinearPolicy& policy, const PolicyQuery& query,
                        uint64_t first_draw) {
  PolicyWorkspace workspace;
  std::map<Action, double> expected;
  double sum = 0;
  for (const Action& action : AllActions(policy, query)) {
    const double p = std::exp(policy.LogPropensity(query, action, &workspace));
    sum += p;
    expected[action] = p * kDraws;
  }
  if (!(std::abs(sum - 1) <= kSumTolerance)) {
    return absl::InternalError(absl::StrCat(
        "probabilities of all ", expected.size(), " actions sum to ", sum,
        ", must be 1 within ", kSumTolerance));
  }
  std::map<Action, int> observed;
  Draw draw;
  for (uint64_t i = 0; i < kDraws; ++i) {
    policy.Decide(query, TestKey(first_draw + i), &workspace, &draw);
    const double again = policy.LogPropensity(query, draw.action, &workspace);
    if (std::bit_cast<uint64_t>(again) !=
        std::bit_cast<uint64_t>(draw.log_propensity)) {
      return absl::InternalError(absl::StrCat(
          "log-propensity of action [", absl::StrJoin(draw.action, ", "),
          "] is ", draw.log_propensity, " when drawn and ", again,
          " when recomputed, must be the same bits"));
    }
    if (!expected.contains(draw.action)) {
      return absl::InternalError(
          absl::StrCat("drew [", absl::StrJoin(draw.action, ", "),
                       "], which is no action of the query"));
    }
    ++observed[draw.action];
  }
  return internal::CheckCounts(expected, observed);
}

}  // namespace

absl::Status SelfTest(const LinearPolicy& policy) {
  TestFeatures features = MakeFeatures(policy);
  Temper(policy, &features);
  const bool mask[kTestCandidates] = {true, false, true, true};
  if (policy.action_kind() == ActionKind::kSubset) {
    // Subsets of the requested size, of another size, of any size.
    const uint32_t size = policy.takes_size() ? 2 : 0;
    RETURN_IF_ERROR(CheckQuery(policy, {features.view(), {}, size}, 1));
    RETURN_IF_ERROR(
        CheckQuery(policy, {features.view(), mask, size / 2}, 1 + kDraws));
    if (policy.subset_size() > 0) return absl::OkStatus();
    return CheckQuery(policy, {features.view(), mask, 0}, 1 + 2 * kDraws);
  }
  RETURN_IF_ERROR(
      CheckQuery(policy, {features.view(), {}, kTestCandidates}, 1));
  return CheckQuery(policy, {features.view(), mask, 2}, 1 + kDraws);
}

namespace internal {

double ChiSquareLimit(size_t degrees_of_freedom) {
  constexpr double kNormalQuantile = 5.9978;  // Upper 1e-9.
  const double k = static_cast<double>(degrees_of_freedom);
  const double a = 2 / (9 * k);
  return k * std::pow(1 - a + kNormalQuantile * std::sqrt(a), 3);
}

absl::Status CheckCounts(const std::map<Action, double>& expected,
                         const std::map<Action, int>& observed) {
  constexpr double kSmallestCell = 5;
  double statistic = 0;
  size_t cells = 0;
  double rest_expected = 0;
  double rest_observed = 0;
  const auto add = [&](double counted, double wanted) {
    statistic += (counted - wanted) * (counted - wanted) / wanted;
    ++cells;
  };
  for (const auto& [action, wanted] : expected) {
    const auto found = observed.find(action);
    const double counted = found == observed.end() ? 0 : found->second;
    if (wanted >= kSmallestCell) {
      add(counted, wanted);
    } else {
      rest_expected += wanted;
      rest_observed += counted;
    }
  }
  if (rest_expected >= kSmallestCell) add(rest_observed, rest_expected);
  const double limit = ChiSquareLimit(std::max<size_t>(cells, 2) - 1);
  if (statistic <= limit) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "draws disagree with the probabilities: chi-square ", statistic, " over ",
      cells, " cells, must be at most ", limit));
}

}  // namespace internal
}  // namespace sortition
