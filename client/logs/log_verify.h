#pragma once
// Recomputes logged decisions and compares them bit for bit.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/aggregation/aggregate_policy.h"
#include "core/choices/interleaving.h"
#include "core/policies/linear_policy.h"
#include "io/models/model_store.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Not thread-safe. Keeps some of the model versions that it has loaded.
class DecisionVerifier {
 public:
  // Without a store, only decisions of version 0 (uniform) can be verified.
  explicit DecisionVerifier(std::optional<ModelStore> store)
      : store_(std::move(store)) {}

  // Recomputes the decision from its features, mask, model and id (or seed).
  // Returns nothing where it is what was logged, else what differs:
  // "log_propensity: expected -1.5, logged -1.25". A decision that cannot be
  // recomputed differs, too. Returns an error where a model cannot be read.
  absl::StatusOr<std::optional<std::string>> Difference(
      const log::v1::Decision& decision);

  // The same for what a version thought of the decision without deciding it.
  absl::StatusOr<std::optional<std::string>> ViewDifference(
      const log::v1::Decision& decision, const log::v1::ShadowView& view);

 private:
  struct Decider {
    std::shared_ptr<const LinearPolicy> policy;
    std::string draw_salt;
    std::string notice;  // UnicodeNotice() of the model.
  };
  struct LoadedModel {
    std::string policy_bytes;
    Decider decider;
  };

  absl::StatusOr<const LoadedModel*> Load(const std::string& model,
                                          uint64_t version);
  absl::StatusOr<std::optional<std::string>> FindDecider(
      const log::v1::Decision& decision, ActionKind kind, Decider* decider);

  // Draws an interleaved order again into `draw_`. Returns what differs in how
  // it came to be interleaved, or why it cannot be recomputed.
  absl::StatusOr<std::optional<std::string>> DrawInterleaved(
      const log::v1::Decision& decision, const Decider& decider,
      const PolicyQuery& query);

  // Recomputes an aggregation, for which no model is needed.
  std::optional<std::string> AggregateDifference(
      const log::v1::Decision& decision);

  std::optional<ModelStore> store_;
  std::map<std::pair<std::string, uint64_t>, LoadedModel> models_;
  PolicyWorkspace workspace_;
  PolicyWorkspace others_;  // Of the other version of an interleaved order.
  InterleavingScratch interleaving_;
  AggregateResult aggregate_;
  Draw draw_;
};

struct VerifyResult {
  uint64_t verified = 0;  // Recomputed and the same.
  uint64_t different = 0;
  uint64_t corrupt_records = 0;
  // Decisions of labels, which are skipped: a conversion draws them all in one
  // sequence, so that none can be repeated alone.
  uint64_t labels = 0;
  // Of imported tuples, which another system decided; those that are decisions
  // of a model here count as verified.
  uint64_t imported = 0;
  // Views of shadows that were recomputed and the same; they differ with their
  // decision. Those of a spool whose decision was not found are left out.
  uint64_t views = 0;
  uint64_t lone_views = 0;
  double seconds = 0;
  // The first decision, or view of one, that differs: its place, its id, and
  // what differs.
  std::string first_file;
  uint64_t first_offset = 0;
  std::string first_decision_id;
  std::string first_difference;
};

// Returns true if `log import` wrote the segment: it records its options.
bool IsImported(const log::v1::SegmentHeader& header);

// Verifies all decisions and tuples of `entries`, as in ScanLog().
absl::StatusOr<VerifyResult> VerifyLog(const std::vector<std::string>& entries,
                                       DecisionVerifier* verifier);

std::string VerifyResultJson(const VerifyResult& result);

}  // namespace sortition
