#include "trainer/labelled/trusted_order.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "core/metrics/pair_metrics.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/query_scorer.h"

namespace sortition {
namespace {

using config::v1::OrderDivergence;
using config::v1::TrainOptions;
using config::v1::TrustedOrderOptions;

// Scores candidates by a feature.
class ByFeature : public QueryScorer {
 public:
  explicit ByFeature(uint32_t feature) : feature_(feature) {}

  absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                             uint32_t num_features) override {
    if (feature_ > num_features) {
      return absl::InvalidArgumentError(absl::StrCat(
          "trusted_order.feature is ", feature_, ", must be within [1, ",
          num_features, "], the features of data"));
    }
    std::vector<double> scores;
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      scores.push_back(query.features[i * num_features + feature_ - 1]);
    }
    return scores;
  }
  void EndFile(size_t) override {}
  absl::Status End() override { return absl::OkStatus(); }

 private:
  const uint32_t feature_;
};

// Prepends the name of the option to its error. Null: the error already names
// it.
absl::Status WithName(const char* option, const absl::Status& status) {
  if (status.ok() || option == nullptr) return status;
  return absl::Status(status.code(),
                      absl::StrCat("trusted_order.", option, ": ",
                                   std::string(status.message())));
}

struct Source {
  std::unique_ptr<QueryScorer> scorer;
  const char* option;  // Null: its errors name it already.
  std::string name;
  uint64_t version = 0;
};

absl::StatusOr<Source> OpenSource(const TrainOptions& options) {
  const TrustedOrderOptions& trusted = options.trusted_order();
  if (trusted.has_feature()) {
    return Source{std::make_unique<ByFeature>(trusted.feature()), nullptr,
                  absl::StrCat("feature ", trusted.feature())};
  }
  if (trusted.has_scores()) {
    auto scorer = ReadScores(trusted.scores());
    if (!scorer.ok()) return WithName("scores", scorer.status());
    return Source{*std::move(scorer), "scores",
                  absl::StrCat("scores of ", trusted.scores())};
  }
  auto model = LoadModelScorer(options.model_store(), options.model(),
                               trusted.version());
  if (!model.ok()) return WithName("version", model.status());
  return Source{
      std::move(model->scorer), "version",
      absl::StrCat("version ", model->version, " of ", options.model()),
      model->version};
}

// Refuses orders that pull nowhere: TOP of n or more of n items is always 0.
absl::Status CheckPulls(const TrustedOrderOptions& trusted,
                        const std::vector<LabelledQuery>& training) {
  if (trusted.divergence() != OrderDivergence::TOP) return absl::OkStatus();
  const auto longest =
      std::max_element(training.begin(), training.end(),
                       [](const LabelledQuery& a, const LabelledQuery& b) {
                         return a.relevances.size() < b.relevances.size();
                       });
  if (longest == training.end() ||
      trusted.cutoff() < longest->relevances.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "trusted_order.cutoff is ", trusted.cutoff(), ", must be below ",
      longest->relevances.size(), " for divergence TOP, the candidates of the ",
      "longest training query, '", longest->id, "': no order is pulled else"));
}

// Returns the query with the features that callers send, or transforms make.
LabelledQuery AsSent(const LabelledQuery& query, const LabelledData& data) {
  LabelledQuery sent = query;
  ChangeWidth(data.width(), data.num_inputs(), 0, &sent);
  return sent;
}

bool AllEqual(const std::vector<double>& scores) {
  return std::adjacent_find(scores.begin(), scores.end(),
                            std::not_equal_to<>()) == scores.end();
}

// Returns the share of pairs of items with tied scores.
double TiedShare(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  double tied = 0;
  for (auto first = scores.begin(); first != scores.end();) {
    const auto last = std::upper_bound(first, scores.end(), *first);
    const auto n = static_cast<double>(last - first);
    tied += n * (n - 1) / 2;
    first = last;
  }
  const auto n = static_cast<double>(scores.size());
  return tied / (n * (n - 1) / 2);
}

// Returns the order by falling score, with equal scores in random order.
Order RandomlyTied(const std::vector<double>& scores, RandomSequence* random) {
  Order shuffled(scores.size());
  std::iota(shuffled.begin(), shuffled.end(), 0u);
  for (size_t n = shuffled.size(); n > 1; --n) {
    std::swap(shuffled[n - 1], shuffled[random->Below(n)]);
  }
  return OrderAlong(scores, shuffled);
}

// The mean of the values that are not NaN; 0 if there are none.
struct Mean {
  double sum = 0;
  double count = 0;
  void Add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

}  // namespace

absl::Status CheckTrustedOrder(const TrainOptions& options) {
  const TrustedOrderOptions& trusted = options.trusted_order();
  if (trusted.weight_size() == 0) {
    return absl::InvalidArgumentError(
        "trusted_order.weight is unset, must be set where another option of "
        "trusted_order is");
  }
  for (const double weight : trusted.weight()) {
    if (weight >= 0 && weight < HUGE_VAL) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "trusted_order.weight is ", weight, ", must be at least 0 and finite"));
  }
  const int sources = (trusted.has_feature() ? 1 : 0) +
                      (trusted.has_scores() ? 1 : 0) +
                      (trusted.has_version() ? 1 : 0);
  if (sources != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("of trusted_order.feature, trusted_order.scores and "
                     "trusted_order.version ",
                     sources, " are set, must be 1"));
  }
  if (trusted.has_feature() && trusted.feature() == 0) {
    return absl::InvalidArgumentError(
        "trusted_order.feature is 0, must be at least 1");
  }
  if (trusted.divergence() == OrderDivergence::TOP && trusted.cutoff() == 0) {
    return absl::InvalidArgumentError(
        "trusted_order.cutoff is 0, must be at least 1 for divergence TOP");
  }
  if (trusted.divergence() == OrderDivergence::ALL_PAIRS &&
      trusted.cutoff() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("trusted_order.cutoff is ", trusted.cutoff(),
                     ", must be 0 for divergence ALL_PAIRS"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TrustedSource> ReadTrustedOrders(const TrainOptions& options,
                                                const LabelledData& data) {
  const TrustedOrderOptions& trusted = options.trusted_order();
  RETURN_IF_ERROR(CheckPulls(trusted, data.training));
  ASSIGN_OR_RETURN(const Source source, OpenSource(options));
  TrustedSource result;
  RandomSequence random(StableHash(HashDomain::kTraining, {"trusted order"}));
  bool is_order = false;
  result.version = source.version;
  Mean tied;
  Mean right;
  for (const LabelledQuery& query : data.training) {
    const auto scores =
        source.scorer->Scores(AsSent(query, data), data.num_inputs());
    if (!scores.ok()) return WithName(source.option, scores.status());
    result.orders.push_back(RandomlyTied(*scores, &random));
    is_order = is_order || !AllEqual(*scores);
    tied.Add(TiedShare(*scores));
    right.Add(RightPairs(*scores, query.relevances));
  }
  source.scorer->EndFile(data.num_rows);
  RETURN_IF_ERROR(WithName(source.option, source.scorer->End()));
  if (!is_order) {
    return WithName(
        source.option == nullptr ? "feature" : source.option,
        absl::InvalidArgumentError(absl::StrCat(
            source.name, " has equal values in each of ", data.training.size(),
            " training queries, must have ", "two that differ in at least 1")));
  }
  result.report.set_source(source.name);
  result.report.set_divergence(
      OrderDivergence::Kind_Name(trusted.divergence()));
  if (trusted.cutoff() > 0) {
    absl::StrAppend(result.report.mutable_divergence(), "@", trusted.cutoff());
  }
  result.report.set_tied_pairs(tied.value());
  result.report.set_right_pairs(right.value());
  return result;
}

}  // namespace sortition
