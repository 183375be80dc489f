#pragma once
// Policies as a log is judged by them: how probable they make what was logged.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/policies/linear_policy.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/decision_files/probability_file.h"
#include "trainer/ope/policies/arm_propensities.h"

namespace sortition {

// A decision of the log, checked. Views.
struct LoggedDecision {
  const log::v1::Decision* decision = nullptr;
  PolicyQuery query;  // With the ranks or size that was logged.
  // Document indexes; of orders the first ranks, which the reward depends on.
  std::span<const int32_t> action;
  ActionKind action_kind = ActionKind::kSelect;
  // What it is weighed by; of a split, see `arm_use`.
  double log_propensity = 0;
  // That of `action` under the version that decided; with a baseline, of both.
  double own_log_propensity = 0;
  bool is_cut = false;  // `action` is less than what was logged.
  double reward = 0;    // In [0, 1]; 0 unless action_shown.
  uint64_t unit = 0;    // UnitKey()
  // What versions that looked on said of it; null: nothing.
  const google::protobuf::RepeatedPtrField<log::v1::ShadowView>* views =
      nullptr;
  // All that was logged; null: there is only the decision.
  const log::v1::BanditTuple* tuple = nullptr;
  // False: something else than the action counts as shown, and whoever chooses
  // the action earns nothing.
  bool action_shown = true;
  bool full_support = true;
  ArmUse arm_use = ArmUse::kNoArm;

  bool is_eligible(size_t document_index) const {
    return query.eligible.empty() || query.eligible[document_index];
  }
  size_t num_eligible() const;
};

// The law by which a policy orders the eligible candidates of a decision.
// Views, until the policy is asked again.
struct OrderLaw {
  const model::v1::Policy* policy = nullptr;  // Of no kind: uniform.
  const ActionDistribution* distribution = nullptr;
  std::span<const double> scores;  // One for each, by document.
};

// What a policy does in a decision.
struct PolicyView {
  double log_probability = 0;  // Of the logged action.
  // Probability of each candidate to be selected, to come first, or to be in
  // the subset; empty if they were not asked for, or the policy cannot say.
  std::vector<double> first;
  double abstain = 0;
};

// Not thread-safe.
class JudgedPolicy {
 public:
  JudgedPolicy(std::string name, std::string description)
      : name_(std::move(name)), description_(std::move(description)) {}
  virtual ~JudgedPolicy() = default;

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }

  // When it was learned from logs; 0: never, or unknown.
  virtual int64_t learned_time_us() const { return 0; }
  // Returns the columns that it reads and that decisions lack, as
  // ColumnPresence::AbsentText(); empty: none.
  virtual std::string AbsentColumns() const { return ""; }
  // What decisions are called that it does not know.
  virtual std::string UnknownText() const {
    return "a file lacks its probabilities";
  }
  // Returns whether it could have decided: no column is absent that it reads.
  virtual bool CouldDecide(const LoggedDecision&) const { return true; }
  // Whether it can say what it would do. Decisions that one of the policies
  // does not know are left out for all of them.
  virtual bool Knows(const LoggedDecision&) const { return true; }
  // Whether it can say the probability of the first ranks of an order, too.
  virtual bool CanCutOrders() const { return true; }
  // Fills in the view. Errors name what does not fit.
  virtual absl::Status View(const LoggedDecision& decision, bool wants_first,
                            PolicyView* view) = 0;
  // Returns the law; nothing if it says no more than the probability of what
  // was logged. Requires a ranking that it knows. Errors as View().
  virtual absl::StatusOr<std::optional<OrderLaw>> OrderLawOf(
      const LoggedDecision&) {
    return std::nullopt;
  }

 private:
  const std::string name_;
  const std::string description_;
};

// A stored version, exactly as it would serve. InvalidArgument if its policy is
// of a kind that is not served.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeStoredPolicy(
    std::string name, const model::v1::Model& model);

std::unique_ptr<JudgedPolicy> MakeUniformPolicy(std::string name);

// Selects a document_index, or draws uniformly if it is not eligible: the first
// one for units whose UnitHalf() is 0, the second for the others; mixed with
// uniform.
std::unique_ptr<JudgedPolicy> MakeConstantPolicy(std::string name,
                                                 int32_t first, int32_t second,
                                                 double mixture);

// What a file says, at a temperature and mixed with uniform.
std::unique_ptr<JudgedPolicy> MakeFilePolicy(std::string name,
                                             ProbabilityFile file,
                                             double temperature,
                                             double mixture);

// A version, by what it said in the log while it looked on. It knows the
// decisions that it looked on at.
std::unique_ptr<JudgedPolicy> MakeShadowPolicy(std::string name,
                                               uint64_t version);

// Mixes the probabilities of a selection with uniform ones, and takes that of
// the logged action from them.
void FinishSelection(const LoggedDecision& decision, double mixture,
                     PolicyView* view);

// Splits units into halves, independently of their groups.
inline size_t UnitHalf(uint64_t unit) { return unit >> 63; }

}  // namespace sortition
