#pragma once
// Checks of single decisions.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/logs/log_verify.h"
#include "client/validation/bounded_map.h"
#include "client/validation/log_check.h"
#include "core/base/hash.h"

namespace sortition {

// Each propensity is in (0, 1], and what it must be by the caller's baseline
// and by the arm of a split; what is interleaved can be.
class PropensityCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  static std::string ProblemOf(const log::v1::Decision& decision);

  uint64_t decisions_ = 0;
  Offences bad_;
};

// The conditional log-propensities of an order add up to its log-propensity.
class ConditionalsCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t orders_ = 0;
  uint64_t without_ = 0;
  Offences bad_;
};

// Each action is one that a policy could take for that query.
class ActionCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  std::string ProblemOf(const log::v1::Decision& decision);

  uint64_t decisions_ = 0;
  std::vector<int32_t> sorted_;  // The action.
  Offences bad_;
};

// All decisions of one version of a model name the same policy, and version 0
// names none.
class PolicyCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t decisions_ = 0;
  std::string bytes_;
  BoundedMap<std::pair<std::string, uint64_t>, Hash128> policies_;
  Offences bad_;
};

// Each decision is what its model decides, bit for bit.
class RecomputeCheck : public LogCheck {
 public:
  explicit RecomputeCheck(const std::string& model_store)
      : verifier_(ModelStore(model_store)) {}

  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  DecisionVerifier verifier_;
  uint64_t decisions_ = 0;
  std::set<std::pair<std::string, uint64_t>> missing_;  // From the store.
  uint64_t imported_ = 0;  // Drawn by another system.
  Offences different_;
  Offences unknown_;
};

}  // namespace sortition
