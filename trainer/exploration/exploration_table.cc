#include "trainer/exploration/exploration_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/exploration/difference_variance.h"
#include "core/policies/distribution_factory.h"
#include "trainer/exploration/exploration_list.h"
#include "trainer/exploration/order_log.h"

namespace sortition {
namespace {

using config::v1::ExplorationTable;

constexpr double kPower = 0.8;
// Of the present reward: the difference to tell unless one is given.
constexpr double kShareOfReward = 0.05;
// With 30 effective terms the standard error of a variance is some 20 % of it.
constexpr double kFewestTerms = 30;
// Keeps squares and their sums finite, as in core/counterfactual.
constexpr double kMaxLogWeight = 300;

class TableBuilder {
 public:
  TableBuilder(const ExplorationTask& task, const ExplorationList& list,
               const OrderLog& validation, const OrderLog& test)
      : task_(task),
        list_(list),
        validation_(validation),
        test_(test),
        sums_(GroupSums::kDefaultGroups, 2 * list.explorations.size()) {}

  absl::StatusOr<ExplorationTable> Build() {
    table_.set_test_tuples(test_.size());
    table_.set_confidence(task_.confidence);
    table_.set_power(kPower);
    ASSIGN_OR_RETURN(present_, LogProbabilitiesOf(task_.model.policy()));
    RETURN_IF_ERROR(WeighTarget());
    for (size_t k = 0; k < list_.explorations.size(); ++k) {
      RETURN_IF_ERROR(AddRow(k));
    }
    AddCosts();
    AddDecisions();
    MarkUndominated();
    return std::move(table_);
  }

 private:
  double range() const { return task_.reward_max - task_.reward_min; }

  absl::StatusOr<std::vector<double>> LogProbabilitiesOf(
      const model::v1::Policy& policy) const {
    ASSIGN_OR_RETURN(const auto distribution, MakeActionDistribution(policy));
    return test_.LogProbabilities(*distribution);
  }

  absl::Status WeighTarget() {
    if (task_.against == nullptr) {
      model::v1::Policy policy = task_.model.policy();
      policy.set_inverse_temperature(
          std::min(kMaxInverseTemperature, 2 * policy.inverse_temperature()));
      table_.set_target(absl::StrFormat("the same at alpha = %.6g",
                                        policy.inverse_temperature()));
      ASSIGN_OR_RETURN(target_, LogProbabilitiesOf(policy));
      return absl::OkStatus();
    }
    table_.set_target(absl::StrCat("version ", task_.against->version()));
    ASSIGN_OR_RETURN(const OrderLog log,
                     OrderLog::Create(*task_.against, task_.test));
    ASSIGN_OR_RETURN(const auto distribution,
                     MakeActionDistribution(task_.against->policy()));
    target_ = log.LogProbabilities(*distribution);
    return absl::OkStatus();
  }

  void Store(const Interval& interval, model::v1::Estimate* estimate) const {
    estimate->set_value(task_.reward_min + range() * interval.value);
    estimate->set_lower(task_.reward_min + range() * interval.lower);
    estimate->set_upper(task_.reward_min + range() * interval.upper);
    estimate->set_confidence(task_.confidence);
  }

  absl::Status AddRow(size_t k) {
    const NamedExploration& exploration = list_.explorations[k];
    ASSIGN_OR_RETURN(const auto distribution,
                     MakeActionDistribution(exploration.policy));
    const std::vector<double> log_probabilities =
        test_.LogProbabilities(*distribution);
    const std::vector<double> log_weights = test_.LogWeights(log_probabilities);
    const std::vector<double> validation_weights =
        validation_.LogWeights(validation_.LogProbabilities(*distribution));
    OffPolicyEstimator estimator(
        ChooseEvaluationClip(validation_.rewards(), validation_weights,
                             test_.size(), task_.confidence));
    DifferenceVariance variance(test_.mean_reward());
    for (size_t i = 0; i < test_.size(); ++i) {
      const double reward = test_.rewards()[i];
      estimator.Add(reward, log_weights[i]);
      variance.Add({.reward = reward,
                    .log_propensity = test_.tuple(i).log_propensity,
                    .log_target = target_[i],
                    .log_present = present_[i],
                    .log_exploration = log_probabilities[i]});
      const std::span<double> sums = sums_.GroupOf(test_.tuple(i).unit);
      const double weight = std::exp(std::fmin(log_weights[i], kMaxLogWeight));
      sums[2 * k] += weight * reward;
      sums[2 * k + 1] += weight;
    }
    spreads_.push_back(variance.Spread());

    const OffPolicyEstimates estimates = estimator.Estimate(task_.confidence);
    const OrderLog::Departure departure = test_.DepartureOf(*distribution);
    ExplorationTable::Row& row = *table_.add_rows();
    row.set_exploration(exploration.name);
    Store(estimates.ips, row.mutable_reward());
    Store(estimates.snips, row.mutable_snips_reward());
    row.set_effective_sample_size(estimates.effective_sample_size);
    row.set_first_differs(departure.first);
    row.set_order_differs(departure.order);
    std::optional<std::string> reservation = test_.WhyUnsupported(log_weights);
    if (reservation) row.set_reservation(*std::move(reservation));
    return absl::OkStatus();
  }

  bool IsSupported(size_t k) const {
    return !table_.rows(static_cast<int>(k)).has_reservation();
  }

  // The self-normalised value of exploration k, in [0, 1].
  static Ratio ValueOf(size_t k, double factor) {
    return {.numerator = {{2 * k, 1}},
            .denominator = {{2 * k + 1, 1}},
            .factor = factor};
  }

  void AddCosts() {
    const size_t reference =
        IsSupported(list_.by_score) ? list_.by_score : list_.present;
    if (!IsSupported(reference)) return;
    table_.set_cost_reference(list_.explorations[reference].name);
    const double z = NormalQuantile((1 + task_.confidence) / 2);
    for (size_t k = 0; k < list_.explorations.size(); ++k) {
      if (!IsSupported(k)) continue;
      const RatioEstimate cost = EstimateRatios(
          sums_, std::vector<Ratio>{ValueOf(reference, 1), ValueOf(k, -1)});
      model::v1::Estimate* stored =
          table_.mutable_rows(static_cast<int>(k))->mutable_cost();
      stored->set_value(range() * cost.value);
      stored->set_lower(range() * (cost.value - z * cost.standard_error));
      stored->set_upper(range() * (cost.value + z * cost.standard_error));
      stored->set_confidence(task_.confidence);
    }
  }

  // Sets the difference to tell, and why none can be told, if so.
  void SetDelta() {
    const double present =
        table_.rows(static_cast<int>(list_.present)).snips_reward().value();
    table_.set_delta(task_.delta > 0 ? task_.delta
                                     : kShareOfReward * std::fabs(present));
    if (!(table_.delta() > 0)) {
      table_.set_problem(
          "the present reward is 0, so that a share of it is nothing to tell; "
          "give --delta");
    } else if (spreads_[list_.present].distance == 0) {
      table_.set_problem(
          "both do the same wherever the log looks; give another version by "
          "--against");
    } else if (!IsSupported(list_.present)) {
      table_.set_problem(
          table_.rows(static_cast<int>(list_.present)).reservation());
    } else if (const auto reason =
                   test_.WhyUnsupported(test_.LogWeights(target_))) {
      table_.set_problem(absl::StrCat("of ", table_.target(), ": ", *reason));
    }
  }

  void AddDecisions() {
    SetDelta();
    for (size_t k = 0; k < spreads_.size(); ++k) {
      ExplorationTable::Row& row = *table_.mutable_rows(static_cast<int>(k));
      const DifferenceSpread& spread = spreads_[k];
      row.set_deviation(range() * std::sqrt(spread.variance));
      row.set_unseen(range() * spread.unseen);
      row.set_effective_terms(spread.effective_terms);
      if (table_.has_problem()) continue;
      const std::optional<uint64_t> decisions = DecisionsToTell(
          spread, table_.delta() / range(), task_.confidence, kPower);
      row.set_never_tells(!decisions.has_value());
      if (decisions && spread.effective_terms >= kFewestTerms) {
        row.set_decisions(*decisions);
      }
    }
  }

  void MarkUndominated() {
    const auto is_known = [](const ExplorationTable::Row& row) {
      return row.has_cost() && row.has_decisions();
    };
    for (ExplorationTable::Row& row : *table_.mutable_rows()) {
      row.set_undominated(
          is_known(row) &&
          std::none_of(table_.rows().begin(), table_.rows().end(),
                       [&](const ExplorationTable::Row& other) {
                         return is_known(other) &&
                                other.cost().value() < row.cost().value() &&
                                other.decisions() < row.decisions();
                       }));
    }
  }

  const ExplorationTask& task_;
  const ExplorationList& list_;
  const OrderLog& validation_;
  const OrderLog& test_;
  std::vector<double> present_;  // Log-probabilities on the test part.
  std::vector<double> target_;
  // Of exploration k: Σ ρ r at 2k and Σ ρ at 2k + 1.
  GroupSums sums_;
  std::vector<DifferenceSpread> spreads_;  // By exploration.
  ExplorationTable table_;
};

}  // namespace

absl::StatusOr<ExplorationTable> MeasureExplorations(
    const ExplorationTask& task) {
  ASSIGN_OR_RETURN(const OrderLog validation,
                   OrderLog::Create(task.model, task.validation));
  ASSIGN_OR_RETURN(const OrderLog test,
                   OrderLog::Create(task.model, task.test));
  ASSIGN_OR_RETURN(const ExplorationList list,
                   ListExplorations(task.model.policy(), test.most_ranks(),
                                    task.explorations));
  return TableBuilder(task, list, validation, test).Build();
}

}  // namespace sortition
