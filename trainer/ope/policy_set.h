#pragma once
// Makes the policies that are judged, before and after the first pass.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/ope/judgement.h"
#include "trainer/ope/log_summary.h"
#include "trainer/ope/ope_log.h"
#include "trainer/ope/policies/policy_spec.h"

namespace sortition {

class PolicySet {
 public:
  // Loads versions and files. NotFound if a version is not in the store;
  // InvalidArgument if versions differ in features or kind of action, or if
  // options.against() is none of the policies.
  static absl::StatusOr<PolicySet> Load(const config::v1::OpeOptions& options);

  const OpeShape& shape() const { return shape_; }
  // Unset: the log.
  std::optional<size_t> against() const { return against_; }

  void ForgetUnknown();  // Counts from 0 again.
  // Whether all policies know the decision.
  bool Know(const LoggedDecision& decision) const;
  // Whether all policies can say the probability of the first ranks alone.
  bool CanCutOrders() const;
  // Counts a decision that not all of them know.
  void CountUnknown(const LoggedDecision& decision);
  uint64_t unknown() const { return unknown_; }
  const std::vector<uint64_t>& unknown_of() const { return unknown_of_; }
  // How many one does not know, by why.
  const std::map<std::string, uint64_t>& unknown_texts() const {
    return unknown_texts_;
  }
  // A sentence on which decisions shadows looked on at; empty: none is judged,
  // or they did at all of `decisions`.
  std::string ShadowText(uint64_t decisions) const;
  // FailedPrecondition if a file lacks more than 1 % of `decisions`.
  absl::Status CheckKnown(uint64_t decisions) const;

  // Chooses constants, and adds the policies that show what exploration costs.
  // InvalidArgument if the policies do not fit the kind of action.
  absl::Status Finish(ActionKind action_kind, const LogSummary& summary);

  // Constants are null before Finish().
  JudgedPolicies& policies() { return policies_; }

 private:
  absl::Status AddPolicy(const PolicySpec& spec,
                         const config::v1::OpeOptions& options);
  absl::StatusOr<model::v1::Model> LoadVersion(
      const PolicySpec& spec, const config::v1::OpeOptions& options);
  absl::Status TakeShape(const PolicySpec& spec, const model::v1::Model& model);

  std::vector<PolicySpec> specs_;
  bool by_default_ = false;  // No policies were given.
  OpeShape shape_;
  std::string shaped_by_;  // Name of the policy that has this shape.
  std::optional<model::v1::Model> newest_;
  std::optional<size_t> against_;
  JudgedPolicies policies_;
  uint64_t unknown_ = 0;
  std::vector<uint64_t> unknown_of_;
  std::map<std::string, uint64_t> unknown_texts_;
};

}  // namespace sortition
