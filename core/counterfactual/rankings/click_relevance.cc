#include "core/counterfactual/rankings/click_relevance.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/rankings/field_checks.h"

namespace sortition {
namespace {

absl::Status CheckRanking(const ClickedRanking& ranking) {
  const size_t shown = ranking.clicks.size();
  RETURN_IF_ERROR(
      CheckSize("target_weights", ranking.target_weights.size(), shown));
  const bool is_policy_aware = !ranking.examinations.empty();
  if (is_policy_aware) {
    RETURN_IF_ERROR(
        CheckSize("examinations", ranking.examinations.size(), shown));
  }
  const bool has_model = !ranking.modelled_relevances.empty();
  if (has_model) {
    RETURN_IF_ERROR(CheckSize("modelled_relevances",
                              ranking.modelled_relevances.size(), shown));
  }
  if (!std::isfinite(ranking.modelled_value)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "modelled_value is ", ranking.modelled_value, ", must be finite"));
  }
  for (size_t k = 0; k < shown; ++k) {
    if (!IsUnit(ranking.clicks[k])) {
      return OutOfRange("clicks", k, ranking.clicks[k], "in [0, 1]");
    }
    const double weight = ranking.target_weights[k];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return OutOfRange("target_weights", k, weight, "finite and at least 0");
    }
    if (is_policy_aware &&
        !(ranking.examinations[k] > 0 && ranking.examinations[k] <= 1 + 1e-9)) {
      return OutOfRange("examinations", k, ranking.examinations[k],
                        "in (0, 1]");
    }
    if (has_model && !std::isfinite(ranking.modelled_relevances[k])) {
      return OutOfRange("modelled_relevances", k,
                        ranking.modelled_relevances[k], "finite");
    }
  }
  return absl::OkStatus();
}

// Entries of a row.
constexpr size_t kNumRankings = 0;
constexpr size_t kFirstPolicy = 1;
constexpr size_t kPlainValue = 0;
constexpr size_t kDoublyRobustValue = 1;
constexpr size_t kPolicyEntries = 2;

}  // namespace

absl::Status CheckExamination(const Examination& examination) {
  const bool has_trust = !examination.beta.empty();
  if (has_trust) {
    RETURN_IF_ERROR(
        CheckSize("beta", examination.beta.size(), examination.alpha.size()));
  }
  for (size_t k = 0; k < examination.alpha.size(); ++k) {
    if (!IsUnit(examination.alpha[k])) {
      return OutOfRange("alpha", k, examination.alpha[k], "in [0, 1]");
    }
    if (!has_trust) continue;
    const double most = 1 - examination.alpha[k];
    constexpr double kRounding = 1e-9;
    if (!(examination.beta[k] >= 0 &&
          examination.beta[k] <= most + kRounding)) {
      return OutOfRange("beta", k, examination.beta[k],
                        absl::StrCat("in [0, ", most, "]"));
    }
  }
  return absl::OkStatus();
}

double ExpectedOverRanks(std::span<const double> marginals,
                         std::span<const double> values) {
  double sum = 0;
  for (size_t k = 0; k < std::min(marginals.size(), values.size()); ++k) {
    sum += marginals[k] * values[k];
  }
  return sum;
}

absl::StatusOr<ClickTerms> ClickTermsOf(const Examination& examination,
                                        const ClickedRanking& ranking,
                                        double least_examination) {
  if (!IsUnit(least_examination)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "least_examination is ", least_examination, ", must be in [0, 1]"));
  }
  RETURN_IF_ERROR(CheckExamination(examination));
  RETURN_IF_ERROR(CheckRanking(ranking));
  const bool has_model = !ranking.modelled_relevances.empty();
  ClickTerms terms;
  terms.doubly_robust = has_model ? ranking.modelled_value : 0;
  for (size_t k = 0; k < ranking.clicks.size(); ++k) {
    const bool is_known = k < examination.alpha.size();
    const double alpha = is_known ? examination.alpha[k] : 0;
    const double beta =
        is_known && !examination.beta.empty() ? examination.beta[k] : 0;
    const double examined =
        ranking.examinations.empty() ? alpha : ranking.examinations[k];
    if (examined == 0) continue;
    const double weight =
        ranking.target_weights[k] / std::max(examined, least_examination);
    const double modelled = has_model ? ranking.modelled_relevances[k] : 0;
    const double click = ranking.clicks[k] - beta;
    terms.plain += weight * click;
    terms.doubly_robust += weight * (click - alpha * modelled);
  }
  return terms;
}

ClickSums::ClickSums(size_t num_policies, size_t num_groups)
    : sums_(num_groups, kFirstPolicy + num_policies * kPolicyEntries) {}

void ClickSums::Add(uint64_t unit_hash, double share,
                    std::span<const ClickTerms> terms) {
  const std::span<double> row = sums_.GroupOf(unit_hash);
  row[kNumRankings] += share;
  for (size_t h = 0; h < terms.size(); ++h) {
    double* const entries = row.data() + kFirstPolicy + h * kPolicyEntries;
    entries[kPlainValue] += share * terms[h].plain;
    entries[kDoublyRobustValue] += share * terms[h].doubly_robust;
  }
}

void ClickSums::Merge(const ClickSums& other) { sums_.Merge(other.sums_); }

std::vector<Ratio> ClickSums::RatiosOf(size_t policy,
                                       bool is_doubly_robust) const {
  const size_t entry = kFirstPolicy + policy * kPolicyEntries +
                       (is_doubly_robust ? kDoublyRobustValue : kPlainValue);
  return {{{{entry, 1}}, {{kNumRankings, 1}}}};
}

}  // namespace sortition
