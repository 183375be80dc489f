#pragma once
// Parts of a log for each of which policies are judged: segments, days, ranges
// of the propensity.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/ope/log_summary.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// A judged decision, as sums take it.
struct JudgedRow {
  uint64_t group_hash = 0;  // Of what is independent of each other.
  double share = 1;
  double reward = 0;
  size_t logging_policy = 0;
  std::span<const JudgedDecision> policies;

  void AddTo(PolicySums* sums) const {
    sums->Add(group_hash, share, reward, policies.first(sums->num_policies()),
              logging_policy);
  }
};

struct Slice {
  Slice(std::string slice_name, size_t num_policies, size_t num_groups)
      : name(std::move(slice_name)), sums(num_policies, num_groups) {}

  std::string name;
  UnitCount units;
  PolicySums sums;
};

class Slices {
 public:
  // InvalidArgument if an attribute of options.segments() is not in the log, or
  // has too many values.
  static absl::StatusOr<Slices> Plan(const config::v1::OpeOptions& options,
                                     const LogSummary& summary,
                                     size_t num_policies);

  void Add(const LoggedDecision& decision, const JudgedRow& row);
  // PolicySums::RefuteLogging() of all slices.
  void RefuteLogging(size_t policy);

  const std::vector<Slice>& segments() const { return segments_; }
  const std::vector<Slice>& days() const { return days_; }
  const std::vector<Slice>& propensities() const { return propensities_; }

 private:
  // From value to segment; of an attribute.
  struct Segmentation {
    std::string attribute;
    std::map<std::string, size_t> segments;
  };

  absl::Status PlanSegments(const config::v1::OpeOptions& options,
                            const LogSummary& summary);
  void PlanDays(const LogSummary& summary);
  void PlanPropensities(const LogSummary& summary);
  // Gives names their sums, within memory.
  void MakeSums(size_t num_policies);

  std::vector<Segmentation> segmentations_;
  int64_t first_day_ = 0;  // Since the epoch.
  int64_t days_each_ = 1;
  std::vector<double> edges_;             // Of log propensities, ascending.
  std::vector<JudgedDecision> selected_;  // Scratch.
  std::vector<std::string> names_[3];
  std::vector<Slice> segments_;
  std::vector<Slice> days_;
  std::vector<Slice> propensities_;
};

}  // namespace sortition
