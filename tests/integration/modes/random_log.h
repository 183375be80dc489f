#pragma once
// A log of a service in this process, every property of which is drawn from a
// seed, and what is true of it.
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "sortition/config/v1/ope.pb.h"
#include "tests/integration/modes/modes_server.h"

namespace sortition {

// Random are the kind of action, the policies, rewards and how rare they are,
// learning mode, traffic split, interleaving, overrides, ranks that users saw,
// sampling, spools, censoring, and how many users come and return. Version 2 of
// the model serves, version 1 is the other one of a split or of interleaved
// orders, and version 3 never decides.
//
// A decision is about one of a few queries and does one of a few actions, so
// that expectations are sums.
class RandomLog {
 public:
  enum class Outcome { kReward, kRankReward, kComplaint };

  explicit RandomLog(uint64_t seed);

  // Serves, and writes tuples and a file of complaints.
  void Write();

  // Says where the tuples are and what has to be known to read them.
  const config::v1::OpeOptions& options() const { return options_; }
  // All that was drawn, in a line.
  std::string Description() const;

  ActionKind kind() const { return kind_; }
  // Of the reward of a decision. A rank with a reward of its own has up to 1.
  double reward_max() const {
    return has_rank_rewards_ ? size_ : least_ + span_;
  }
  uint32_t num_ranks() const { return size_; }
  bool has_shadow() const { return shadow_every_ > 0; }
  // Whether version 2 alone wrote the log.
  bool is_plain() const { return mode_ == Mode::kOnline; }

  // The expected outcome of a decision of `version`, 0 for the uniform policy.
  // Complaints count as negative.
  double ValueOf(uint64_t version, Outcome outcome = Outcome::kReward) const {
    return ValueOf(policies_[version], outcome);
  }
  double ValueOf(const LinearPolicy& policy, Outcome outcome) const;
  // That of the decisions of the log; unset where orders are interleaved.
  std::optional<double> ValueOfLog(Outcome outcome = Outcome::kReward) const;

 private:
  using Documents = std::vector<int32_t>;
  // Of the actions, in a query.
  using Probabilities = std::vector<double>;
  enum class Mode { kOnline, kSplit, kApprentice, kExplore, kInterleaved };

  static constexpr uint32_t kFeatures = 3;
  static constexpr double kFirstArm = 0.3;  // Of version 1, in a split.
  static constexpr double kExplored = 0.25;

  void DrawKind();
  void DrawRewards();
  void DrawUsers();
  std::vector<model::v1::Model> DrawVersions();
  model::v1::Policy DrawPolicy();
  void ListActions();

  void Serve(model::v1::Serving* serving) const;
  absl::Status Decide(const v1::DecisionContext& context);
  v1::DecisionContext Request(const std::string& unit, const std::string& id,
                              uint32_t query);
  // Adds what became of the decision; returns false if it is not in the log.
  bool Finish(uint32_t query, const std::string& unit, bool is_first,
              log::v1::BanditTuple* tuple);
  void AddReward(uint32_t query, const Documents& shown, uint32_t seen,
                 double content, log::v1::BanditTuple* tuple);

  PolicyQuery Query(uint32_t query) const;
  Probabilities BaselineOf(uint32_t query) const;
  // The expectation of an outcome that is drawn from what was shown.
  double Expected(uint32_t query, const Documents& shown, uint32_t seen,
                  Outcome outcome) const;
  // The same of an action, with what becomes of it on its way to the user.
  double Earned(uint32_t query, const Documents& action, Outcome outcome) const;
  double Mean(const std::function<Probabilities(uint32_t query)>& policy,
              Outcome outcome) const;

  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[random_.Below(values.size())];
  }
  bool Happens(double probability) { return random_.Uniform() < probability; }

  RandomSequence random_;

  ActionKind kind_ = ActionKind::kSelect;
  bool can_abstain_ = false;
  uint32_t num_candidates_ = 0;
  uint32_t size_ = 0;  // Ranks, or candidates to choose; 0: any.
  std::vector<Documents> actions_;
  std::vector<size_t> overriding_;  // The action that is shown, by query.

  uint32_t num_queries_ = 0;
  std::vector<float> features_;
  // By query and candidate, that of abstaining last.
  std::vector<double> chances_;
  std::vector<double> complaints_;
  bool has_rank_rewards_ = false;
  bool is_certain_ = false;  // Rewards are what they are on average.
  double least_ = 0;         // A reward is in [least_, least_ + span_].
  double span_ = 1;

  Mode mode_ = Mode::kOnline;
  model::v1::Interleave::Method method_ = model::v1::Interleave::TEAM_DRAFT;
  uint32_t shadow_every_ = 0;
  double overridden_ = 0;  // Share of decisions.
  bool is_seen_known_ = false;
  double censored_ = 0;
  double kept_[2] = {1, 1};  // By spool.
  bool has_copies_ = false;
  bool has_complaints_ = false;
  bool has_units_ = true;
  uint32_t num_users_ = 0;
  uint32_t most_decisions_ = 1;
  double returns_[2] = {1, 1};  // With which a later decision is made, by arm.

  std::vector<LinearPolicy> policies_;  // By version; uniform first.
  config::v1::OpeOptions options_;
  ModesServer server_;
};

}  // namespace sortition
