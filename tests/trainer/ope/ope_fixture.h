#pragma once
// A log on disk, and what `ope` says of it.
#include <functional>

#include "io/files.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/ope/ope.h"

namespace sortition {

// Returns a selection among `propensity.size()` candidates with one feature,
// their number.
inline log::v1::BanditTuple SelectionTuple(
    const std::string& id, const std::vector<double>& propensities,
    int32_t action, double reward) {
  log::v1::BanditTuple tuple;
  log::v1::Decision* const decision = tuple.mutable_decision();
  decision->set_decision_id(id);
  decision->set_model("default");
  decision->set_action_kind(log::v1::SELECT);
  decision->set_num_candidates(static_cast<uint32_t>(propensities.size()));
  decision->set_num_features(1);
  for (size_t i = 0; i < propensities.size(); ++i) {
    decision->add_dense_values(static_cast<float>(i));
  }
  decision->add_action(action);
  decision->set_log_propensity(
      std::log(propensities[static_cast<size_t>(action)]));
  tuple.set_reward(reward);
  tuple.set_has_feedback(true);
  return tuple;
}

class OpeFixture : public testing::Test {
 protected:
  void WriteLog(const std::vector<log::v1::BanditTuple>& tuples) {
    WriteSegment(dir_.Sub("tuples"), num_segments_++, tuples);
    options_.set_tuples(dir_.Sub("tuples"));
  }
  // Publishes it as the next version.
  void Publish(const model::v1::Model& model) {
    ASSERT_OK(store_.Publish(model, nullptr, {}));
    options_.set_model_store(dir_.Sub("models"));
  }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(dir_ / name, text));
    return dir_ / name;
  }
  void SetPolicies(const std::vector<std::string>& policies) {
    options_.mutable_policies()->Assign(policies.begin(), policies.end());
  }
  config::v1::OpeReport Judge() const {
    const auto report = Ope(options_);
    EXPECT_OK(report);
    return report.ok() ? *report : config::v1::OpeReport();
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::OpeOptions options_;
  uint64_t num_segments_ = 0;
};

// Decisions d0, d1, … between two candidates, which were drawn uniformly and
// are taken in turn.
inline std::vector<log::v1::BanditTuple> AlternatingTuples(
    int n, const std::function<double(int)>& reward) {
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < n; ++i) {
    tuples.push_back(
        SelectionTuple(absl::StrCat("d", i), {0.5, 0.5}, i % 2, reward(i)));
  }
  return tuples;
}

// A file of policies that give the candidates of d0, d1, … these probabilities.
inline std::string ProbabilityRows(
    int n, const std::function<const char*(int)>& probabilities) {
  std::string rows = "decision_id,p0,p1\n";
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&rows, "d", i, ",", probabilities(i), "\n");
  }
  return rows;
}
inline std::string ProbabilityRows(int n, const char* probabilities) {
  return ProbabilityRows(n, [&](int) { return probabilities; });
}

// Returns the first finding of this kind of a report or policy; null: none.
template <typename WithFindings>
const model::v1::Finding* FindingOf(const WithFindings& message,
                                    const std::string& kind) {
  for (const auto& finding : message.findings()) {
    if (finding.kind() == kind) return &finding;
  }
  return nullptr;
}

inline const config::v1::OpePolicy& PolicyOf(
    const config::v1::OpeReport& report, const std::string& name) {
  for (const auto& policy : report.policies()) {
    if (policy.name() == name) return policy;
  }
  ADD_FAILURE() << "no policy " << name;
  return config::v1::OpePolicy::default_instance();
}

inline const config::v1::OpeEstimate& EstimateOf(
    const config::v1::OpePolicy& policy, const std::string& estimator) {
  for (const auto& estimate : policy.estimates()) {
    if (estimate.estimator() == estimator) return estimate;
  }
  ADD_FAILURE() << "no estimate " << estimator << " of " << policy.name();
  return config::v1::OpeEstimate::default_instance();
}

}  // namespace sortition
