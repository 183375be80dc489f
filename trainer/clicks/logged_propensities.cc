#include "trainer/clicks/logged_propensities.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;

// A policy agrees with a logged propensity up to this factor.
constexpr double kLogTolerance = 1e-6;
// Models of more versions than this are not held in memory.
constexpr size_t kMostVersions = 64;
constexpr char kNoExactMarginals[] =
    "marginals: the policy is not Plackett-Luce";

// Returns what multiplies the scores of an ordinary Plackett-Luce policy;
// nothing for others.
std::optional<double> ScaleOf(const model::v1::Policy& policy) {
  if (!policy.has_plackett_luce()) return std::nullopt;
  const auto& factors = policy.plackett_luce().rank_factors();
  if (factors.empty()) return policy.inverse_temperature();
  for (const double factor : factors) {
    if (factor != factors[0]) return std::nullopt;
  }
  return policy.inverse_temperature() * factors[0];
}

void FillInterventions(
    const std::string& method, uint64_t sessions,
    const absl::StatusOr<std::vector<PropensityRatio>>& ratios,
    ClicksReport* report) {
  ClicksReport::Interventions* const added = report->add_interventions();
  added->set_method(method);
  added->set_sessions(sessions);
  if (!ratios.ok()) {
    added->set_problem(std::string(ratios.status().message()));
    return;
  }
  for (size_t r = 0; r < ratios->size(); ++r) {
    const PropensityRatio& ratio = (*ratios)[r];
    ClicksReport::Propensity* const rank = added->add_ranks();
    rank->set_rank(static_cast<uint32_t>(r));
    rank->set_ratio(ratio.ratio);
    rank->set_lower(ratio.lower);
    rank->set_upper(ratio.upper);
    rank->set_log_standard_error(ratio.log_standard_error);
  }
}

}  // namespace

absl::StatusOr<LoggedPropensities> LoggedPropensities::Create(
    const config::v1::ClicksOptions& options, const ItemIndex& items,
    uint64_t num_sessions) {
  const auto num_items = static_cast<uint32_t>(items.size());
  ASSIGN_OR_RETURN(ClickSessions harvested, ClickSessions::Create(num_items));
  ASSIGN_OR_RETURN(ClickSessions swapped, ClickSessions::Create(num_items));
  const double share =
      num_sessions == 0 ? 0
                        : static_cast<double>(options.propensity_sessions()) /
                              static_cast<double>(num_sessions);
  return LoggedPropensities(options, items, share, std::move(harvested),
                            std::move(swapped));
}

LoggedPropensities::LoggedPropensities(const config::v1::ClicksOptions& options,
                                       const ItemIndex& items, double share,
                                       ClickSessions harvested,
                                       ClickSessions swapped)
    : options_(options),
      items_(items),
      share_(share),
      harvested_(std::move(harvested)),
      sums_(items.size() * options.max_ranks(), 0),
      counts_(items.size(), 0),
      swapped_(std::move(swapped)) {}

const LoggedPropensities::Logging& LoggedPropensities::LoggingOf(
    uint64_t version) {
  const auto found = versions_.find(version);
  if (found != versions_.end()) return found->second;
  if (versions_.size() >= kMostVersions) versions_.clear();
  Logging& logging = versions_[version];
  if (version == 0) {
    // What a server without a model does.
    logging.policy = LinearPolicy::Uniform(ActionKind::kRank, false);
    logging.scale = 0;
    return logging;
  }
  if (options_.model_store().empty()) return logging;
  const auto stored =
      ModelStore(options_.model_store()).Load(options_.model(), version);
  if (!stored.ok()) return logging;
  auto policy = LinearPolicy::Create(stored->model);
  if (!policy.ok() || policy->action_kind() != ActionKind::kRank) {
    return logging;
  }
  logging.policy = *std::move(policy);
  logging.scale = ScaleOf(stored->model.policy());
  logging.uniform_mixture = stored->model.policy().uniform_mixture();
  return logging;
}

std::string LoggedPropensities::Ask(const log::v1::Decision& decision) {
  if (decision.has_aggregation()) return "decided by Aggregate";
  if (decision.has_baseline()) return "the caller's baseline had a part";
  if (decision.has_interleaving()) return "two versions made the order";
  logging_ = &LoggingOf(decision.version());
  if (!logging_->policy.has_value()) {
    return options_.model_store().empty()
               ? "model_store is empty"
               : absl::StrCat("version ", decision.version(),
                              " is not in the store, or does not load");
  }
  const auto view = ViewDecision(decision);
  if (!view.ok() || !CheckDecidable(*view).ok()) {
    return "malformed candidates";
  }
  query_ = {.candidates = view->candidates,
            .eligible = view->eligible,
            .top_k = view->top_k,
            .columns = view->columns};
  log_propensity_ = logging_->policy->LogPropensity(
      query_, SpanOf(decision.action()), &workspace_);
  // That of the arm, where traffic is split.
  if (!(std::abs(log_propensity_ - std::min(decision.log_propensity(), 0.0)) <=
        kLogTolerance)) {
    return absl::StrCat("version ", decision.version(),
                        " gives another propensity than was logged");
  }
  return "";
}

absl::Status LoggedPropensities::Take(const ClickedRanking& ranking) {
  const log::v1::Decision& decision = *ranking.decision;
  const double number = UnitInterval(
      StableHash(HashDomain::kSubsample, {decision.decision_id()}));
  if (number >= share_) return absl::OkStatus();
  if (const std::string why = Ask(decision); !why.empty()) {
    ++without_[why];
    return absl::OkStatus();
  }
  numbers_.clear();
  for (size_t r = 0; r < ranking.clicks.size(); ++r) {
    const auto document_index = static_cast<uint32_t>(ranking.action[r]);
    // All of them were shown in the first pass.
    numbers_.push_back(
        items_.Find(ranking.keys->KeyOf(document_index)).value_or(0));
  }
  if (logging_->scale.has_value()) {
    RETURN_IF_ERROR(Harvest(ranking));
  } else {
    ++without_[kNoExactMarginals];
  }
  return Swap(ranking);
}

// Reads the scores that Ask() left in the workspace.
absl::Status LoggedPropensities::Harvest(const ClickedRanking& ranking) {
  std::vector<uint32_t> documents;
  for (uint32_t i = 0; i < query_.num_candidates(); ++i) {
    if (query_.eligible.empty() || query_.eligible[i]) documents.push_back(i);
  }
  const size_t n = documents.size();
  // At ranks below these the decision showed nothing.
  const size_t ranks = ranking.clicks.size();
  logits_.assign(n, 0);
  at_ranks_.assign(n * ranks, 1 / static_cast<double>(n));
  if (!logging_->policy->uniform()) {
    for (size_t i = 0; i < n; ++i) {
      logits_[i] = *logging_->scale * workspace_.scores[i];
    }
    marginals_.Compute(logits_, ranks, at_ranks_);
    MixMarginals(logging_->uniform_mixture, n, at_ranks_);
  }
  for (size_t i = 0; i < n; ++i) {
    // Items that nobody saw do not count.
    const auto item = items_.Find(ranking.keys->KeyOf(documents[i]));
    if (!item.has_value()) continue;
    ++counts_[*item];
    double* const sums = &sums_[size_t{*item} * options_.max_ranks()];
    for (size_t r = 0; r < ranks; ++r) sums[r] += at_ranks_[r * n + i];
  }
  return harvested_.Add(numbers_, ranking.clicks);
}

// With the two orders drawn with p and p', the weight min(1, p'/p) of what was
// drawn makes both count min(p, p').
absl::Status LoggedPropensities::Swap(const ClickedRanking& ranking) {
  ++num_swappable_;
  order_.assign(ranking.action.begin(), ranking.action.end());
  std::vector<RandomisedPair> pairs;
  for (size_t r = 0; r + 1 < ranking.clicks.size(); ++r) {
    // Pairs without a click say nothing.
    if (ranking.clicks[r] == 0 && ranking.clicks[r + 1] == 0) continue;
    std::swap(order_[r], order_[r + 1]);
    const double log_swapped =
        logging_->policy->LogPropensity(query_, order_, &workspace_);
    std::swap(order_[r], order_[r + 1]);
    const auto weight = static_cast<float>(
        std::exp(std::min(0.0, log_swapped - log_propensity_)));
    if (!(weight > 0)) continue;
    pairs.push_back({static_cast<uint32_t>(swapped_.size()),
                     static_cast<uint16_t>(r), static_cast<uint16_t>(r + 1),
                     weight});
  }
  if (pairs.empty()) return absl::OkStatus();
  pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
  return swapped_.Add(numbers_, ranking.clicks);
}

void LoggedPropensities::Fill(ClicksReport* report) {
  for (const auto& [reason, count] : without_) {
    (*report->mutable_without_propensities())[reason] = count;
  }
  const PropensityOptions options = {.confidence = options_.confidence()};
  if (harvested_.size() > 0) {
    const uint32_t ranks = options_.max_ranks();
    std::vector<float> probabilities(sums_.size());
    for (size_t k = 0; k < sums_.size(); ++k) {
      const uint32_t count = counts_[k / ranks];
      if (count == 0) continue;
      probabilities[k] =
          static_cast<float>(std::clamp(sums_[k] / count, 0.0, 1.0));
    }
    FillInterventions(
        "marginals", harvested_.size(),
        HarvestPropensities(harvested_, {probabilities, ranks}, options),
        report);
  }
  if (num_swappable_ > 0) {
    FillInterventions("swaps", num_swappable_,
                      PairPropensities(swapped_, pairs_, options), report);
  }
}

}  // namespace sortition
