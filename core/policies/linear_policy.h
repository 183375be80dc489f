#pragma once
// A served policy: linear scores s(d) = w·x(d) and a distribution over actions
// (seed 004, sec. 5.1 and 7). Serving, verification and training all go through
// this class, so that the logged propensity is the one that is recomputed.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/data/action.h"
#include "core/data/candidates.h"
#include "core/policies/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// One query. Views.
struct PolicyQuery {
  Candidates candidates;
  // Empty: all are eligible. Else one per candidate, at least one true.
  std::span<const bool> eligible;
  // kRank: ranks to fill; 0 or more than eligible: all. kSubset: size; 0: as
  // the policy has it; more than eligible: all.
  uint32_t top_k = 0;
  // Of an F-score game, which is solved in rounds. `stop` is asked every 10 µs
  // or so; once it says true, the best strategy known is played, and the draw
  // says how many rounds that had. `game_rounds` plays that strategy again.
  std::function<bool()> stop = nullptr;
  std::optional<uint32_t> game_rounds = std::nullopt;
  bool return_game = false;  // Draw.game, of policies that play one.
};

// Reused between queries by one thread: no allocation when warm.
struct PolicyWorkspace {
  std::vector<uint32_t> eligible_documents;
  std::vector<double> scores;  // Of the eligible.
  std::vector<int32_t> positions;
  std::vector<double> score_gradient;
  Draw draw;
  DistributionScratch scratch;
};

// Immutable, thread-safe.
class LinearPolicy {
 public:
  // InvalidArgument where the policy is bad (MakeActionDistribution), there is
  // no weight, or one is beyond ±1e200: all scores of finite features are
  // finite.
  static absl::StatusOr<LinearPolicy> Create(const model::v1::Policy& policy,
                                             std::vector<double> weights);

  // Every action equally likely, for any number of features; selection includes
  // abstaining where `can_abstain`.
  static LinearPolicy Uniform(ActionKind action_kind, bool can_abstain);

  ActionKind action_kind() const { return distribution_->action_kind(); }
  bool can_abstain() const { return abstain_score_.has_value(); }
  // Subsets: whether their size can be asked for (PolicyQuery.top_k).
  bool takes_size() const { return takes_size_; }
  // Subsets: how many of enough candidates it chooses where nothing is asked
  // for; 0: any number.
  uint32_t subset_size() const { return subset_size_; }
  // Subsets: what is subtracted from every score.
  double threshold() const { return threshold_; }
  bool uniform() const { return uniform_; }
  // Of a query it can score; 0: any (uniform).
  uint32_t num_features() const {
    return static_cast<uint32_t>(weights_.size());
  }

  // Draws an action in document indexes with its log-propensity; -infinity, not
  // to be served, where scores are beyond what can be drawn exactly
  // (kMaxRankingLogit). Pure function of (query, key) but for `stop`. Requires
  // num_features() to match, at least one eligible.
  void Decide(const PolicyQuery& query, const Hash128& key,
              PolicyWorkspace* workspace, Draw* draw) const;

  // log p(action | query), the same bits as Decide() gave; -infinity for an
  // action that is impossible or ill-formed (not eligible, repeated, wrong
  // length).
  double LogPropensity(const PolicyQuery& query,
                       std::span<const int32_t> action,
                       PolicyWorkspace* workspace) const;

  // Returns log p(action | query) and adds `scale` times its gradient to
  // `gradient`: d entries by the weights and one more by the abstain score,
  // where can_abstain(), or by the threshold, for subsets. -infinity and
  // nothing added for an impossible action.
  double AddLogPropensityGradient(const PolicyQuery& query,
                                  std::span<const int32_t> action, double scale,
                                  PolicyWorkspace* workspace,
                                  std::span<double> gradient) const;

  // Most probable action in document indexes.
  Action Mode(const PolicyQuery& query, PolicyWorkspace* workspace) const;

  // s(d) of every candidate, 0 where not eligible.
  std::vector<double> Scores(const PolicyQuery& query) const;

  // Of each candidate, 0 where not eligible, as in
  // ActionDistribution::FirstProbabilities; `abstain_probability` may be null.
  std::vector<double> FirstProbabilities(const PolicyQuery& query,
                                         double* abstain_probability) const;

 private:
  LinearPolicy() = default;

  // Whether there is a parameter beside the weights.
  bool has_constant() const {
    return can_abstain() || action_kind() == ActionKind::kSubset;
  }

  // Fills the workspace's eligible documents and scores.
  ScoredCandidates Score(const PolicyQuery& query,
                         PolicyWorkspace* workspace) const;

  std::vector<double> weights_;
  std::optional<double> abstain_score_;
  double threshold_ = 0;
  bool takes_size_ = false;
  uint32_t subset_size_ = 0;
  std::shared_ptr<const ActionDistribution> distribution_;
  bool uniform_ = false;
};

}  // namespace sortition
