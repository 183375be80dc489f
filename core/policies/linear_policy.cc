#include "core/policies/linear_policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

void FillEligible(const PolicyQuery& query, PolicyWorkspace* workspace) {
  std::vector<uint32_t>& documents = workspace->eligible_documents;
  const uint32_t n = query.num_candidates();
  documents.resize(n);
  if (query.eligible.empty()) {
    std::iota(documents.begin(), documents.end(), 0u);
    return;
  }
  size_t size = 0;
  for (uint32_t i = 0; i < n; ++i) {
    documents[size] = i;
    size += query.eligible[i] ? 1 : 0;
  }
  documents.resize(size);
}

// Writes the positions among the eligible of the documents of `action` into
// workspace->positions. Returns false where one is not eligible. Requires
// FillEligible().
bool ToPositions(std::span<const int32_t> action, PolicyWorkspace* workspace) {
  const std::vector<uint32_t>& documents = workspace->eligible_documents;
  workspace->positions.clear();
  for (const int32_t document : action) {
    if (document == kAbstain) {
      workspace->positions.push_back(kAbstain);
      continue;
    }
    const auto place = std::lower_bound(documents.begin(), documents.end(),
                                        static_cast<uint32_t>(document));
    if (document < 0 || place == documents.end() ||
        *place != static_cast<uint32_t>(document)) {
      return false;
    }
    workspace->positions.push_back(
        static_cast<int32_t>(place - documents.begin()));
  }
  return true;
}

}  // namespace

LinearPolicy::LinearPolicy()
    : features_(ModelFeatures::OfMatrix(0)),
      weights_(std::make_shared<const std::vector<double>>()) {}

absl::StatusOr<LinearPolicy> LinearPolicy::Create(
    const model::v1::Model& model) {
  ASSIGN_OR_RETURN(ModelFeatures features, ModelFeatures::Create(model));
  return Create(model.policy(), std::move(features),
                {model.weights().begin(), model.weights().end()});
}

absl::StatusOr<LinearPolicy> LinearPolicy::Create(
    const model::v1::Policy& policy, std::vector<double> weights) {
  const auto num_features = static_cast<uint32_t>(weights.size());
  return Create(policy, ModelFeatures::OfMatrix(num_features),
                std::move(weights));
}

absl::StatusOr<LinearPolicy> LinearPolicy::Create(
    const model::v1::Policy& policy, ModelFeatures features,
    std::vector<double> weights) {
  ASSIGN_OR_RETURN(auto distribution, MakeActionDistribution(policy));
  if (weights.empty()) {
    return absl::InvalidArgumentError(
        "weights has 0 values, must have at least 1");
  }
  if (weights.size() != features.num_features()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights has ", weights.size(), " values, must have ",
                     features.num_features(), ", one for each feature"));
  }
  RETURN_IF_ERROR(ValidateWeights(weights));
  LinearPolicy result;
  result.features_ = std::move(features);
  result.weights_ =
      std::make_shared<const std::vector<double>>(std::move(weights));
  result.distribution_ = std::move(distribution);
  if (policy.softmax_selection().has_abstain_score()) {
    result.abstain_score_ = policy.softmax_selection().abstain_score();
  }
  result.threshold_ = SubsetThreshold(policy);
  result.takes_size_ = TakesSubsetSize(policy);
  result.subset_size_ = SubsetSize(policy);
  return result;
}

LinearPolicy LinearPolicy::Uniform(ActionKind action_kind, bool can_abstain) {
  LinearPolicy result;
  result.uniform_ = true;
  result.distribution_ = MakeUniformDistribution(action_kind);
  result.takes_size_ = action_kind == ActionKind::kSubset;
  if (can_abstain) result.abstain_score_ = 0;
  return result;
}

LinearPolicy LinearPolicy::OfFeatures() const {
  LinearPolicy result = *this;
  result.features_ = ModelFeatures::OfMatrix(features_.num_features());
  return result;
}

absl::Status LinearPolicy::ComputeScores(const PolicyQuery& query,
                                         PolicyWorkspace* workspace) const {
  const std::vector<uint32_t>& documents = workspace->eligible_documents;
  if (features_.as_sent() && query.columns == nullptr &&
      query.candidates.num_features() == weights_->size()) {
    workspace->features = query.candidates;
  } else {
    if (workspace->computed == nullptr) {
      workspace->computed = std::make_unique<ModelFeatureScratch>();
    }
    ASSIGN_OR_RETURN(workspace->features,
                     features_.Compute({query.candidates, query.columns},
                                       documents, workspace->computed.get()));
  }
  workspace->scores.resize(documents.size());
  workspace->features.Scores(documents, *weights_, workspace->scores);
  return absl::OkStatus();
}

std::optional<ScoredCandidates> LinearPolicy::Score(
    const PolicyQuery& query, PolicyWorkspace* workspace) const {
  CHECK(query.eligible.empty() ||
        query.eligible.size() == query.num_candidates());
  workspace->scratch.is_prepared.reset();
  if (!workspace->refusal.ok()) workspace->refusal = absl::OkStatus();
  FillEligible(query, workspace);
  const size_t m = workspace->eligible_documents.size();
  CHECK(m > 0);
  if (uniform_) {
    workspace->scores.assign(m, 0);
    return ViewScores(query, workspace);
  }
  if (absl::Status status = ComputeScores(query, workspace); !status.ok()) {
    workspace->refusal = std::move(status);
    workspace->scores.assign(m, 0);
    return std::nullopt;
  }
  return ViewScores(query, workspace);
}

ScoredCandidates LinearPolicy::ViewScores(const PolicyQuery& query,
                                          PolicyWorkspace* workspace) const {
  const size_t m = workspace->eligible_documents.size();
  ScoredCandidates scored;
  scored.scores = workspace->scores;
  scored.abstain_score = abstain_score_;
  scored.threshold = threshold_;
  scored.top_k = std::min(query.top_k, static_cast<uint32_t>(m));
  if (scored.top_k == 0 && action_kind() != ActionKind::kSubset) {
    scored.top_k = static_cast<uint32_t>(m);
  }
  scored.scratch = &workspace->scratch;
  scored.game = query.game;
  return scored;
}

void LinearPolicy::Decide(const PolicyQuery& query, const Hash128& key,
                          PolicyWorkspace* workspace, Draw* draw) const {
  const std::optional<ScoredCandidates> scored = Score(query, workspace);
  draw->game_rounds.reset();
  draw->game.reset();
  if (!scored.has_value()) {
    draw->action.clear();
    draw->conditional_log_propensities.clear();
    draw->log_propensity = -HUGE_VAL;
    return;
  }
  distribution_->Sample(*scored, CounterRandom(key), draw);
  for (int32_t& place : draw->action) {
    if (place == kAbstain) continue;
    place = static_cast<int32_t>(workspace->eligible_documents[place]);
  }
}

double LinearPolicy::LogPropensity(const PolicyQuery& query,
                                   std::span<const int32_t> action,
                                   PolicyWorkspace* workspace) const {
  const std::optional<ScoredCandidates> scored = Score(query, workspace);
  if (!scored.has_value() || !ToPositions(action, workspace)) return -HUGE_VAL;
  return distribution_->LogPropensity(*scored, workspace->positions);
}

double LinearPolicy::LogPropensity(const PolicyQuery& query,
                                   std::span<const int32_t> action,
                                   PolicyWorkspace* workspace,
                                   std::vector<double>* conditionals) const {
  conditionals->clear();
  const double log_propensity = LogPropensity(query, action, workspace);
  if (action_kind() == ActionKind::kRank && log_propensity != -HUGE_VAL) {
    distribution_->ConditionalLogPropensities(
        ViewScores(query, workspace), workspace->positions, conditionals);
  }
  return log_propensity;
}

double LinearPolicy::AddLogPropensityGradient(
    const PolicyQuery& query, std::span<const int32_t> action, double scale,
    PolicyWorkspace* workspace, std::span<double> gradient) const {
  CHECK(uniform_ ||
        gradient.size() == weights_->size() + (has_constant() ? 1 : 0));
  const std::optional<ScoredCandidates> scored = Score(query, workspace);
  if (!scored.has_value() || !ToPositions(action, workspace)) return -HUGE_VAL;
  workspace->score_gradient.resize(scored->scores.size());
  double abstain_gradient = 0;
  const double log_propensity = distribution_->LogPropensityGradient(
      *scored, workspace->positions, workspace->score_gradient,
      &abstain_gradient);
  if (log_propensity == -HUGE_VAL || uniform_) return log_propensity;
  for (size_t i = 0; i < scored->scores.size(); ++i) {
    const double derivative = scale * workspace->score_gradient[i];
    if (derivative == 0) continue;
    workspace->features.AddRow(workspace->eligible_documents[i], derivative,
                               gradient.first(weights_->size()));
  }
  if (has_constant()) gradient.back() += scale * abstain_gradient;
  return log_propensity;
}

Action LinearPolicy::ModeOf(const ScoredCandidates& scored,
                            const PolicyWorkspace& workspace) const {
  Action action = distribution_->Mode(scored);
  for (int32_t& place : action) {
    if (place == kAbstain) continue;
    place = static_cast<int32_t>(workspace.eligible_documents[place]);
  }
  return action;
}

Action LinearPolicy::Mode(const PolicyQuery& query,
                          PolicyWorkspace* workspace) const {
  const std::optional<ScoredCandidates> scored = Score(query, workspace);
  return scored.has_value() ? ModeOf(*scored, *workspace) : Action();
}

Action LinearPolicy::DecidedMode(const PolicyQuery& query,
                                 PolicyWorkspace* decided) const {
  return ModeOf(ViewScores(query, decided), *decided);
}

std::vector<double> LinearPolicy::Scores(const PolicyQuery& query) const {
  PolicyWorkspace workspace;
  Score(query, &workspace);
  return Scores(query, workspace);
}

std::vector<double> LinearPolicy::Scores(const PolicyQuery& query,
                                         const PolicyWorkspace& decided) {
  std::vector<double> scores(query.num_candidates(), 0);
  for (size_t i = 0; i < decided.scores.size(); ++i) {
    scores[decided.eligible_documents[i]] = decided.scores[i];
  }
  return scores;
}

std::vector<double> LinearPolicy::FirstProbabilities(
    const PolicyQuery& query, double* abstain_probability) const {
  PolicyWorkspace workspace;
  std::vector<double> probabilities;
  const double abstain = FirstProbabilities(query, &workspace, &probabilities);
  if (abstain_probability != nullptr) *abstain_probability = abstain;
  return probabilities;
}

std::vector<double> LinearPolicy::DecidedFirstProbabilities(
    const PolicyQuery& query, PolicyWorkspace* decided,
    double* abstain_probability) const {
  std::vector<double> probabilities;
  ScoredCandidates scored = ViewScores(query, decided);
  scored.game.is_decided = true;
  const double abstain =
      PlaceProbabilities(query, scored, *decided, &probabilities);
  if (abstain_probability != nullptr) *abstain_probability = abstain;
  return probabilities;
}

double LinearPolicy::FirstProbabilities(
    const PolicyQuery& query, PolicyWorkspace* workspace,
    std::vector<double>* probabilities) const {
  const std::optional<ScoredCandidates> scored = Score(query, workspace);
  if (!scored.has_value()) {
    probabilities->assign(query.num_candidates(), 0);
    return 0;
  }
  return PlaceProbabilities(query, *scored, *workspace, probabilities);
}

double LinearPolicy::PlaceProbabilities(
    const PolicyQuery& query, const ScoredCandidates& scored,
    const PolicyWorkspace& workspace,
    std::vector<double>* probabilities) const {
  const size_t m = scored.scores.size();
  probabilities->assign(query.num_candidates(), 0);
  const double abstain = distribution_->FirstProbabilities(
      scored, std::span(*probabilities).first(m));
  // From the i-th eligible one to its document, which is never before i.
  for (size_t i = m; i-- > 0;) {
    const double probability = std::exchange((*probabilities)[i], 0);
    (*probabilities)[workspace.eligible_documents[i]] = probability;
  }
  return abstain;
}

}  // namespace sortition
