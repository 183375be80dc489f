#pragma once
// Rank, Select and Label without their transport: refuses, decides, logs,
// answers.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/choices/baseline_choice.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_metrics.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/decision_scratch.h"
#include "server/decisions/version_choice.h"
#include "server/models/baseline_agreement.h"
#include "server/models/model_registry.h"
#include "server/shadows/shadow_scorer.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Every method overwrites `response`; if it fails, nothing was
// logged and the response is void. Errors: INVALID_ARGUMENT, NOT_FOUND,
// FAILED_PRECONDITION; RESOURCE_EXHAUSTED or UNAVAILABLE if the record could
// not be logged. A decision is always logged before it is answered.
class RankingService {
 public:
  // All pointers must outlive it. `spool` null: decisions are not logged.
  // `shadows` null: nobody looks on. `agreement` null: it is not counted.
  RankingService(const config::v1::RequestLimits& limits,
                 const ModelRegistry* models, SpoolWriter* spool,
                 Metrics* metrics, ShadowScorer* shadows = nullptr,
                 BaselineAgreement* agreement = nullptr,
                 const config::v1::ColdStartOptions& cold_start = {});

  absl::Status Rank(const v1::RankRequest& request, DecisionScratch* scratch,
                    v1::RankResponse* response);
  absl::Status Select(const v1::SelectRequest& request,
                      DecisionScratch* scratch, v1::SelectResponse* response);
  absl::Status Label(const v1::LabelRequest& request, DecisionScratch* scratch,
                     v1::LabelResponse* response);

 private:
  // A request that passed every check, with the version that answers it.
  struct CheckedRequest {
    std::shared_ptr<const ServingSet> set;
    VersionChoice choice;  // Belongs to `set`, as the next.
    const LinearPolicy* policy = nullptr;
    PolicyQuery query;  // Views into the request.
    std::string degraded;
    // Set where the caller's baseline has a part.
    std::optional<BaselinePlan> plan;
    BaselineOutcome outcome;
    log::v1::ArmChoice arm;  // Where traffic is split.

    bool is_baseline() const {
      return plan.has_value() && !outcome.model_decided;
    }
    // Whether the model has scored the candidates.
    bool is_scored() const {
      return !plan.has_value() || outcome.model_log_propensity.has_value();
    }
  };

  // Validates what requests of all kinds have in common, names the decision in
  // `result`, and finds the version that answers it.
  absl::StatusOr<CheckedRequest> Check(const v1::DecisionContext& context,
                                       ActionKind action_kind, SeenModels* seen,
                                       v1::DecisionResult* result);
  // Validates k and stores the size of the subset in `checked`.
  static absl::Status SetSize(const v1::LabelRequest& request,
                              CheckedRequest* checked);
  // Returns a function that tells whether an F-score game that begins now must
  // stop.
  std::function<bool()> GameLimit(double seconds_left) const;
  // Returns true if the caller's baseline decides, with some exploration,
  // because the model has no version yet. A request that names what answers it,
  // or whose baseline is drawn by the caller, gets the uniform policy.
  bool StartsCold(const v1::DecisionContext& context,
                  const CheckedRequest& checked) const;
  // Validates the baseline, if the learning mode or a cold start asks for one.
  absl::Status SetPlan(const v1::DecisionContext& context,
                       CheckedRequest* checked, DecisionScratch* scratch) const;
  // Draws a ranking that the model makes together with another version.
  static void DrawInterleaved(const OpenDecision& decision,
                              const CheckedRequest& checked,
                              DecisionScratch* scratch);
  // Returns the probability of each candidate to come first, or to be in the
  // subset, and sets that of no answer unless `abstain` is null, from the
  // memory of the draw. They are those of the whole choice, in which a baseline
  // or another version may have a part; none where they are not known.
  static std::vector<double> FirstProbabilities(const CheckedRequest& checked,
                                                DecisionScratch* scratch,
                                                double* abstain);
  // Draws into `scratch`, from the model, with a part of the baseline, or
  // interleaved.
  static void DrawAction(const OpenDecision& decision, CheckedRequest* checked,
                         DecisionScratch* scratch);
  // Decides, and counts it for the version.
  absl::Status Decide(const v1::DecisionContext& context,
                      CheckedRequest* checked, DecisionScratch* scratch,
                      v1::DecisionResult* result);
  // Tells those who look on of a decision that was logged.
  void TellOnlookers(const v1::DecisionContext& context,
                     const CheckedRequest& checked,
                     const std::string& decision_id, DecisionScratch* scratch);
  // Draws into `scratch`, logs, and fills the fields that all results share.
  absl::Status DrawAndLog(const v1::DecisionContext& context,
                          CheckedRequest* checked, DecisionScratch* scratch,
                          v1::DecisionResult* result);
  // Sets the fields of the record that depend on the kind of action.
  static void AddDetails(const CheckedRequest& checked, const Draw& draw,
                         log::v1::Decision* record);
  // Sets how it came to its version and its action.
  static void AddChoice(const CheckedRequest& checked,
                        log::v1::Decision* record);

  const config::v1::RequestLimits limits_;
  const double cold_start_explore_;
  const ModelRegistry* const models_;
  DecisionRecorder recorder_;
  DecisionMetrics decision_metrics_;
  ShadowScorer* const shadows_;
  BaselineAgreement* const agreement_;
};

}  // namespace sortition
