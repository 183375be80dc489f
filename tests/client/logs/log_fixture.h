#pragma once
// A model store and segments of decisions as a server would have logged them.
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/logs/log_verify.h"
#include "core/base/hash.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/linear_policy.h"
#include "io/models/model_store.h"
#include "io/segments/segment_writer.h"
#include "process/command.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class LogFixture : public testing::Test {
 protected:
  LogFixture() {
    for (const char* name : {"models", "log", "log/late"}) root_.Sub(name);
  }

  std::string store() const { return root_ / "models"; }
  std::string log() const { return root_ / "log"; }

  static constexpr char kDrawSalt[] = "0123456789abcdef0123456789abcdef";
  // Version 0, uniform, has no salt.
  static std::string SaltOf(const model::v1::Model& model) {
    return model.version() == 0 ? "" : kDrawSalt;
  }

  // Publishes a model over two features and returns it with its version.
  model::v1::Model Publish(bool rank) {
    model::v1::Policy policy;
    if (rank) {
      policy.mutable_plackett_luce();
    } else {
      policy.mutable_softmax_selection()->set_abstain_score(0.2);
    }
    return Publish(policy);
  }
  model::v1::Model Publish(const model::v1::Policy& policy) {
    model::v1::Model model;
    // A name keeps its kind of action.
    const ActionKind action = ActionKindOf(policy);
    model.set_name(action == ActionKind::kSelect ? "default"
                   : action == ActionKind::kRank ? "orders"
                                                 : "sets");
    model.set_num_features(2);
    model.add_weights(0.5);
    model.add_weights(-1.25);
    *model.mutable_policy() = policy;
    model.mutable_policy()->set_inverse_temperature(1.5);
    model.mutable_policy()->set_uniform_mixture(0.1);
    return Publish(std::move(model));
  }
  model::v1::Model Publish(model::v1::Model model) {
    const auto version = ModelStore(store()).Publish(model, nullptr, {},
                                                     {.draw_salt = kDrawSalt});
    EXPECT_OK(version);
    model.set_version(version.value_or(0));
    return model;
  }

  // Returns decision `id` of `model` (version 0: uniform) over four candidates.
  static log::v1::Decision Decide(const model::v1::Model& model, bool rank,
                                  const std::string& id) {
    log::v1::Decision decision;
    decision.set_decision_id(id);
    decision.set_time_us(1000000);
    decision.set_model(model.name());
    decision.set_version(model.version());
    decision.set_action_kind(rank ? log::v1::RANK : log::v1::SELECT);
    decision.set_num_candidates(4);
    decision.set_num_features(2);
    for (int i = 0; i < 8; ++i) {
      decision.add_dense_values(0.25f * static_cast<float>((i * 5) % 8));
    }
    for (const bool eligible : {true, false, true, true}) {
      decision.add_eligible(eligible);
    }
    Complete(model, rank, &decision);
    return decision;
  }

  // Fills in what the policy decides about the features in `decision`.
  static void Complete(const model::v1::Model& model, bool rank,
                       log::v1::Decision* decision) {
    const bool uniform = model.version() == 0;
    auto policy =
        uniform ? LinearPolicy::Uniform(
                      rank ? ActionKind::kRank : ActionKind::kSelect, false)
                : LinearPolicy::Create(model);
    ASSERT_OK(policy);
    if (!uniform) *decision->mutable_policy() = model.policy();
    decision->set_can_abstain(policy->can_abstain());
    PolicyQuery query;
    const auto& sparse = decision->sparse();
    query.candidates = decision->has_sparse()
                           ? Candidates::SparseUnchecked(
                                 {sparse.row_offsets().data(), 5},
                                 {sparse.columns().data(),
                                  static_cast<size_t>(sparse.columns_size())},
                                 {sparse.values().data(),
                                  static_cast<size_t>(sparse.values_size())},
                                 2)
                           : Candidates::DenseUnchecked(
                                 {decision->dense_values().data(), 8}, 2);
    query.eligible = {decision->eligible().data(),
                      static_cast<size_t>(decision->eligible_size())};
    query.top_k = rank ? 2 : 0;
    decision->set_top_k(query.top_k);
    PolicyWorkspace workspace;
    Draw draw;
    policy->Decide(query,
                   decision->has_seed()
                       ? SeedKey(decision->seed(), SaltOf(model))
                       : DecisionKey(decision->model(), decision->version(),
                                     decision->decision_id(), SaltOf(model)),
                   &workspace, &draw);
    SetDraw(draw, decision);
  }

  static void SetDraw(const Draw& draw, log::v1::Decision* decision) {
    decision->mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision->set_log_propensity(draw.log_propensity);
    if (decision->action_kind() != log::v1::RANK) return;
    decision->mutable_conditional_log_propensities()->Assign(
        draw.conditional_log_propensities.begin(),
        draw.conditional_log_propensities.end());
  }

  static log::v1::LogRecord Spool(const log::v1::Decision& decision) {
    log::v1::LogRecord record;
    *record.mutable_decision() = decision;
    return record;
  }

  static log::v1::LogRecord Tuple(const log::v1::Decision& decision,
                                  double reward) {
    log::v1::LogRecord record;
    *record.mutable_tuple()->mutable_decision() = decision;
    record.mutable_tuple()->set_reward(reward);
    record.mutable_tuple()->set_has_feedback(true);
    record.mutable_tuple()->add_feedback()->set_feedback_id("f");
    record.mutable_tuple()->mutable_shown()->set_decision_id(
        decision.decision_id());
    return record;
  }

  static log::v1::LogRecord Feedback(const std::string& feedback_id,
                                     const std::string& decision_id,
                                     double reward) {
    log::v1::LogRecord record;
    record.mutable_feedback()->set_feedback_id(feedback_id);
    record.mutable_feedback()->set_decision_id(decision_id);
    record.mutable_feedback()->set_reward(reward);
    return record;
  }

  // Returns what differs from what the store would have decided; "" where
  // nothing does.
  std::string Difference(const log::v1::Decision& decision) {
    return Text(DecisionVerifier(ModelStore(store())).Difference(decision));
  }
  static std::string Text(
      const absl::StatusOr<std::optional<std::string>>& difference) {
    EXPECT_OK(difference);
    return difference.ok() ? difference->value_or("") : "error";
  }

  // Returns a segment of `records` that is not closed yet.
  std::unique_ptr<SegmentWriter> Write(
      const std::string& name, uint64_t first_sequence,
      const std::vector<log::v1::LogRecord>& records) {
    SegmentWriter::Options options;
    options.dir = log();
    options.name = name + ".seg";
    options.preallocate_bytes = 65536;
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::SPOOL);
    options.header.set_writer_id("w");
    options.header.set_incarnation("i");
    options.header.set_first_sequence(first_sequence);
    auto writer = SegmentWriter::Create(options);
    EXPECT_OK(writer);
    if (!writer.ok()) return nullptr;
    for (const auto& record : records) EXPECT_OK((*writer)->Append(record));
    return *std::move(writer);
  }

  const TempDir root_;
  std::ostringstream out_;
  std::ostringstream error_;
  CommandOutput output_{out_, error_};
};

}  // namespace sortition
