#include "trainer/ope/policies/logging_policies.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/models/model_store.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

bool IsUniform(const log::v1::Decision& decision) {
  return decision.policy().kind_case() == model::v1::Policy::KIND_NOT_SET;
}

// Whether the policy gives the action another probability than it did beside
// the caller's baseline.
bool Contradicts(const PolicyView& view,
                 const log::v1::BaselineChoice& baseline) {
  return baseline.has_model_log_propensity() &&
         view.log_probability != baseline.model_log_propensity() &&
         !(std::abs(view.log_probability - baseline.model_log_propensity()) <=
           LoggingPolicies::kLogTolerance);
}

}  // namespace

std::unique_ptr<JudgedPolicy> LoggingPolicies::LoadPolicy(
    const config::v1::OpeOptions& options, uint64_t version,
    uint32_t num_features) {
  if (version == 0) return MakeUniformPolicy("uniform");
  if (options.model_store().empty()) return nullptr;
  const auto stored =
      ModelStore(options.model_store()).Load(options.model(), version);
  if (!stored.ok() || SentFeatures(stored->model) != num_features) {
    return nullptr;
  }
  auto policy = MakeStoredPolicy(absl::StrCat(version), stored->model);
  return policy.ok() ? *std::move(policy) : nullptr;
}

LoggingPolicies LoggingPolicies::Load(
    const config::v1::OpeOptions& options,
    const std::map<uint64_t, uint64_t>& versions, uint32_t num_features) {
  LoggingPolicies result;
  double decisions = 0;
  std::vector<std::pair<uint64_t, uint64_t>> by_count;
  for (const auto& [version, count] : versions) {
    decisions += static_cast<double>(count);
    by_count.emplace_back(count, version);
  }
  for (const auto& [version, count] : versions) {
    result.indexes_[version] = result.policies_.size();
    result.policies_.emplace_back().log_share =
        std::log(static_cast<double>(count) / decisions);
  }
  std::sort(by_count.rbegin(), by_count.rend());
  if (by_count.size() > kMostLoaded) by_count.resize(kMostLoaded);
  for (const auto& [count, version] : by_count) {
    result.policies_[result.IndexOf(version)].policy =
        LoadPolicy(options, version, num_features);
  }
  result.is_mixed_ =
      result.policies_.size() > 1 && result.policies_.size() <= kMostMixed &&
      std::all_of(
          result.policies_.begin(), result.policies_.end(),
          [](const Logging& logging) { return logging.policy != nullptr; });
  return result;
}

absl::Status LoggingPolicies::View(const LoggedDecision& decision,
                                   bool wants_first) {
  log_mixture_.reset();
  logging_view_ = nullptr;
  // Two versions logged it, neither of which says what both do:
  // trainer/ope/interleaving asks them.
  if (decision.decision->has_interleaving()) return absl::OkStatus();
  const uint64_t version = decision.decision->version();
  const size_t index = IndexOf(version);
  if (index < policies_.size() && policies_[index].policy != nullptr) {
    Logging& logging = policies_[index];
    RETURN_IF_ERROR(logging.policy->View(decision, wants_first, &logging.view));
    logging_view_ = &logging.view;
  }
  if (logging_view_ == nullptr) {
    ++unknown_;
    return absl::OkStatus();
  }
  const log::v1::Decision& logged = *decision.decision;
  if (logged.has_baseline()) {
    if (Contradicts(*logging_view_, logged.baseline())) ++contradictions_;
    logging_view_ = nullptr;
    return absl::OkStatus();
  }
  // That of the arm, where traffic is split.
  if (std::abs(logging_view_->log_probability - decision.own_log_propensity) >
      kLogTolerance) {
    // Version 0 without a policy may also be another system's log.
    if (version == 0 && IsUniform(logged)) {
      ++unknown_;
    } else {
      ++contradictions_;
    }
    logging_view_ = nullptr;
    return absl::OkStatus();
  }
  // How far an order is cut may depend on the version: one may lack the
  // propensities of ranks.
  if (!is_mixed_ || decision.is_cut) return absl::OkStatus();
  // A version that would have refused the request has no probability here.
  for (const Logging& logging : policies_) {
    if (!logging.policy->CouldDecide(decision)) return absl::OkStatus();
  }
  double mixture = 0;
  for (Logging& logging : policies_) {
    if (&logging.view != logging_view_) {
      RETURN_IF_ERROR(
          logging.policy->View(decision, /*wants_first=*/false, &logging.view));
    }
    mixture += std::exp(logging.log_share + logging.view.log_probability);
  }
  log_mixture_ = std::log(mixture);
  return absl::OkStatus();
}

}  // namespace sortition
