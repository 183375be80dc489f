#pragma once
// A served policy: scores s(d) = w·z(d) of a model's features z
// (core/scoring/model_features.h) and a distribution over actions (seed 004,
// sec. 5.1 and 7). Serving, verification and training all use this class, so
// that they compute the same propensities.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/data/action.h"
#include "core/data/candidates.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/scoring/model_features.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// One query. Views.
struct PolicyQuery {
  Candidates candidates;
  // Empty: all candidates are eligible. Else one value per candidate, at least
  // one of them true.
  std::span<const bool> eligible;
  // kRank: ranks to fill; 0 or more than are eligible: all. kSubset: size of
  // the subset; 0: the policy decides; more than are eligible: all.
  uint32_t top_k = 0;
  GameControls game = {};
  // Set: what the caller has instead of `candidates`, for a model with a
  // schema.
  const sortition::v1::Columns* columns = nullptr;

  uint32_t num_candidates() const {
    return QueryInput{candidates, columns}.num_candidates();
  }
};

// Reused between queries by one thread: no allocation when warm.
struct PolicyWorkspace {
  std::vector<uint32_t> eligible_documents;
  std::vector<double> scores;  // One per eligible document.
  // Why the model refused the last query; OK if it did not.
  absl::Status refusal;
  Candidates features;  // Of the last query: a view of it or of what is below.
  std::unique_ptr<ModelFeatureScratch> computed;
  std::vector<int32_t> positions;
  std::vector<double> score_gradient;
  Draw draw;
  DistributionScratch scratch;
};

// Immutable, thread-safe; copies share what they hold.
class LinearPolicy {
 public:
  // InvalidArgument where MakeActionDistribution() refuses the policy,
  // ModelFeatures::Create() the rest, the number of weights is not that of
  // features, or ValidateWeights() refuses one.
  static absl::StatusOr<LinearPolicy> Create(const model::v1::Model& model);
  // The same for features as callers send them, one for each weight.
  static absl::StatusOr<LinearPolicy> Create(const model::v1::Policy& policy,
                                             std::vector<double> weights);

  // Returns the policy in which every action is equally likely, for any number
  // of features. Selection includes abstaining where `can_abstain`.
  static LinearPolicy Uniform(ActionKind action_kind, bool can_abstain);

  ActionKind action_kind() const { return distribution_->action_kind(); }
  bool can_abstain() const { return abstain_score_.has_value(); }
  // Subsets: whether a query may ask for their size (PolicyQuery.top_k).
  bool takes_size() const { return takes_size_; }
  // Subsets: how many candidates are chosen where the query does not say and
  // enough are eligible; 0: any number.
  uint32_t subset_size() const { return subset_size_; }
  // Subsets: what is subtracted from every score.
  double threshold() const { return threshold_; }
  bool uniform() const { return uniform_; }
  // Number of features that callers must send; 0: any (uniform), or columns.
  uint32_t num_features() const {
    return features_.transform() != nullptr ? 0 : features_.num_inputs();
  }
  // Of the queries; of no meaning where uniform().
  const ModelFeatures& features() const { return features_; }
  // Whether no copy of the policy shares the weights.
  bool owns_weights() const { return weights_.use_count() == 1; }
  // One for each feature; none where uniform().
  std::span<const double> weights() const { return *weights_; }
  // Returns the policy for callers that send all that its weights multiply.
  LinearPolicy OfFeatures() const;

  // All methods with a query require an eligible candidate. Where the model
  // does not take the query (ModelFeatures::Compute()) every action has
  // log-propensity -infinity, other results are empty or 0, and
  // workspace->refusal says why.

  // Draws an action in document indexes with its log-propensity. That is
  // -infinity, and the action must not be served, where the model refuses the
  // query or scores are beyond what can be drawn exactly (kMaxRankingLogit). A
  // pure function of (query, key) unless query.game.stop is set.
  void Decide(const PolicyQuery& query, const Hash128& key,
              PolicyWorkspace* workspace, Draw* draw) const;

  // Returns log p(action | query), the same bits as Decide() gave; -infinity
  // for an action that is impossible or malformed (a candidate not eligible or
  // repeated, a wrong length).
  double LogPropensity(const PolicyQuery& query,
                       std::span<const int32_t> action,
                       PolicyWorkspace* workspace) const;
  // The same, and writes the log-propensity of each rank given those above
  // (kRank), or nothing (other kinds, and an order that is impossible).
  double LogPropensity(const PolicyQuery& query,
                       std::span<const int32_t> action,
                       PolicyWorkspace* workspace,
                       std::vector<double>* conditionals) const;

  // Returns log p(action | query) and adds `scale` times its gradient to
  // `gradient`: one entry for each weight and, where can_abstain() or for
  // subsets, one more by the abstain score or the threshold. For an impossible
  // action returns -infinity and adds nothing.
  double AddLogPropensityGradient(const PolicyQuery& query,
                                  std::span<const int32_t> action, double scale,
                                  PolicyWorkspace* workspace,
                                  std::span<double> gradient) const;

  // Returns the most probable action in document indexes.
  Action Mode(const PolicyQuery& query, PolicyWorkspace* workspace) const;
  // The same from the scores in the workspace that Decide() or LogPropensity()
  // has used last for this query.
  Action DecidedMode(const PolicyQuery& query, PolicyWorkspace* decided) const;

  // Returns s(d) of every candidate, 0 for those that are not eligible. With
  // the workspace that Decide() has used last for this query, computes nothing.
  std::vector<double> Scores(const PolicyQuery& query) const;
  static std::vector<double> Scores(const PolicyQuery& query,
                                    const PolicyWorkspace& decided);

  // Returns ActionDistribution::FirstProbabilities() by document, 0 for those
  // that are not eligible. `abstain_probability` may be null.
  std::vector<double> FirstProbabilities(const PolicyQuery& query,
                                         double* abstain_probability) const;
  // The same into `probabilities`; returns that of abstaining.
  double FirstProbabilities(const PolicyQuery& query,
                            PolicyWorkspace* workspace,
                            std::vector<double>* probabilities) const;
  // The same from what is in the workspace that Decide() has used last for this
  // query: its scores and, if it played a game, the strategy.
  std::vector<double> DecidedFirstProbabilities(
      const PolicyQuery& query, PolicyWorkspace* decided,
      double* abstain_probability) const;

 private:
  LinearPolicy();

  static absl::StatusOr<LinearPolicy> Create(const model::v1::Policy& policy,
                                             ModelFeatures features,
                                             std::vector<double> weights);

  // FirstProbabilities() from the scores of `query` in `workspace`.
  double PlaceProbabilities(const PolicyQuery& query,
                            const ScoredCandidates& scored,
                            const PolicyWorkspace& workspace,
                            std::vector<double>* probabilities) const;

  // Whether the policy has a parameter besides the weights.
  bool has_constant() const {
    return can_abstain() || action_kind() == ActionKind::kSubset;
  }

  // Fills the workspace's eligible documents, features, scores and refusal, and
  // returns a view of the scores; nothing where the query is refused.
  std::optional<ScoredCandidates> Score(const PolicyQuery& query,
                                        PolicyWorkspace* workspace) const;
  absl::Status ComputeScores(const PolicyQuery& query,
                             PolicyWorkspace* workspace) const;
  // Returns the most probable action of `scored`, in document indexes.
  Action ModeOf(const ScoredCandidates& scored,
                const PolicyWorkspace& workspace) const;
  // The view alone, of a workspace that is filled.
  ScoredCandidates ViewScores(const PolicyQuery& query,
                              PolicyWorkspace* workspace) const;

  ModelFeatures features_;
  std::shared_ptr<const std::vector<double>> weights_;  // As many as features.
  std::optional<double> abstain_score_;
  double threshold_ = 0;
  bool takes_size_ = false;
  uint32_t subset_size_ = 0;
  std::shared_ptr<const ActionDistribution> distribution_;
  bool uniform_ = false;
};

}  // namespace sortition
