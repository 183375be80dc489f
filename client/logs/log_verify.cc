#include "client/logs/log_verify.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/logs/choice_verify.h"
#include "client/logs/decision_finder.h"
#include "client/logs/log_scan.h"
#include "core/base/status_macros.h"
#include "core/features/describe_features.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "io/segments/decision_view.h"
#include "sortition/config/v1/log_files.pb.h"

namespace sortition {
namespace {

using Found = std::optional<std::string>;

Found Differs(absl::string_view what, absl::string_view expected,
              absl::string_view logged) {
  return absl::StrCat(what, ": expected ", expected, ", logged ", logged);
}

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Returns the decimal and the exact hexadecimal form.
std::string DoubleText(double value) {
  return absl::StrFormat("%.17g (%a)", value, value);
}

std::string KindText(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSelect:
      return "SELECT";
    case ActionKind::kRank:
      return "RANK";
    case ActionKind::kSubset:
      break;
  }
  return "SUBSET";
}

std::string RoundsText(const std::optional<uint32_t>& rounds) {
  return rounds.has_value() ? absl::StrCat(*rounds) : "none";
}

// Returns the query that was decided, a view of `decision`.
absl::StatusOr<PolicyQuery> LoggedQuery(const log::v1::Decision& decision) {
  ASSIGN_OR_RETURN(const DecisionView view, ViewDecision(decision));
  RETURN_IF_ERROR(CheckDecidable(view));
  PolicyQuery query = {
      view.candidates, view.eligible, view.top_k, {}, view.columns};
  if (decision.has_game_rounds()) query.game.rounds = decision.game_rounds();
  return query;
}

// Compares what says which distribution a subset was drawn from.
Found CompareSubset(const log::v1::Decision& decision,
                    const LinearPolicy& policy, const PolicyQuery& query,
                    const Draw& draw) {
  if (draw.game_rounds != query.game.rounds) {
    return Differs("game_rounds", RoundsText(draw.game_rounds),
                   RoundsText(query.game.rounds));
  }
  const bool sized =
      policy.takes_size() && (query.top_k > 0 || policy.subset_size() > 0);
  const size_t top_k = sized ? draw.action.size() : 0;
  if (decision.top_k() == top_k) return std::nullopt;
  return Differs("top_k", absl::StrCat(top_k), absl::StrCat(decision.top_k()));
}

// `of_game` says with how many rounds of a game the draw was repeated.
Found CompareDraw(const log::v1::Decision& decision, const Draw& draw,
                  absl::string_view of_game) {
  if (!std::equal(draw.action.begin(), draw.action.end(),
                  decision.action().begin(), decision.action().end())) {
    return Differs(
        absl::StrCat("action", of_game),
        absl::StrCat("[", absl::StrJoin(draw.action, ","), "]"),
        absl::StrCat("[", absl::StrJoin(decision.action(), ","), "]"));
  }
  if (!SameBits(draw.log_propensity, decision.log_propensity())) {
    return Differs(absl::StrCat("log_propensity", of_game),
                   DoubleText(draw.log_propensity),
                   DoubleText(decision.log_propensity()));
  }
  if (decision.action_kind() != log::v1::RANK) return std::nullopt;
  const auto& logged = decision.conditional_log_propensities();
  const auto& expected = draw.conditional_log_propensities;
  if (static_cast<size_t>(logged.size()) != expected.size()) {
    return Differs("conditional_log_propensities",
                   absl::StrCat(expected.size(), " entries"),
                   absl::StrCat(logged.size()));
  }
  for (int rank = 0; rank < logged.size(); ++rank) {
    if (SameBits(expected[rank], logged[rank])) continue;
    return Differs(absl::StrCat("conditional_log_propensities[", rank, "]"),
                   DoubleText(expected[rank]), DoubleText(logged[rank]));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<const DecisionVerifier::LoadedModel*> DecisionVerifier::Load(
    const std::string& model, uint64_t version) {
  const auto key = std::make_pair(model, version);
  if (const auto found = models_.find(key); found != models_.end()) {
    return &found->second;
  }
  if (!store_.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model ", model, " version ", version,
        " decided: --model_store must name the directory of the models"));
  }
  ASSIGN_OR_RETURN(const StoredModel stored, store_->Load(model, version));
  ASSIGN_OR_RETURN(LinearPolicy policy, LinearPolicy::Create(stored.model));
  // Decisions of one version mostly follow each other.
  constexpr size_t kMostModels = 64;
  if (models_.size() >= kMostModels) models_.clear();
  LoadedModel loaded;
  loaded.policy_bytes = stored.model.policy().SerializeAsString();
  loaded.decider.policy =
      std::make_shared<const LinearPolicy>(std::move(policy));
  loaded.decider.draw_salt = stored.draw_salt;
  loaded.decider.notice = UnicodeNotice(stored.model.features());
  return &models_.emplace(key, std::move(loaded)).first->second;
}

absl::StatusOr<Found> DecisionVerifier::FindDecider(
    const log::v1::Decision& decision, ActionKind kind, Decider* decider) {
  if (decision.version() == 0) {
    if (decision.policy().kind_case() != model::v1::Policy::KIND_NOT_SET) {
      return Differs("policy", "none (version 0 is uniform)",
                     decision.policy().ShortDebugString());
    }
    decider->policy = std::make_shared<const LinearPolicy>(
        LinearPolicy::Uniform(kind, decision.can_abstain()));
    return Found();
  }
  ASSIGN_OR_RETURN(const LoadedModel* model,
                   Load(decision.model(), decision.version()));
  *decider = model->decider;
  const LinearPolicy& policy = *decider->policy;
  if (decision.policy().SerializeAsString() != model->policy_bytes) {
    model::v1::Policy expected;
    expected.ParseFromString(model->policy_bytes);
    return Differs("policy", expected.ShortDebugString(),
                   decision.policy().ShortDebugString());
  }
  if (policy.action_kind() != kind) {
    return Differs("action_kind", KindText(policy.action_kind()),
                   KindText(kind));
  }
  if (policy.can_abstain() != decision.can_abstain()) {
    return Differs("can_abstain", policy.can_abstain() ? "true" : "false",
                   decision.can_abstain() ? "true" : "false");
  }
  if (policy.num_features() != decision.num_features()) {
    return Differs("num_features", absl::StrCat(policy.num_features()),
                   absl::StrCat(decision.num_features()));
  }
  return Found();
}

Found DecisionVerifier::AggregateDifference(const log::v1::Decision& decision) {
  const absl::StatusOr<PolicyQuery> lists = LoggedQuery(decision);
  const absl::StatusOr<AggregatePolicy> policy =
      AggregatePolicy::Create(decision.policy());
  const std::optional<ScoreScale> scale = ScaleOf(decision.aggregation());
  absl::Status status = lists.status();
  if (status.ok()) status = policy.status();
  if (status.ok() && !scale.has_value()) {
    status = absl::InvalidArgumentError(
        absl::StrCat("aggregation.scale is ", decision.aggregation().scale()));
  }
  if (status.ok()) {
    status = policy->Decide(
        {*lists, SpanOf(decision.aggregation().weights()), *scale},
        LoggedKey(decision, decision.version(), ""), &aggregate_, &draw_);
  }
  if (!status.ok()) {
    return absl::StrCat("cannot be recomputed: ", status.message());
  }
  if (decision.action_kind() != log::v1::RANK || decision.version() != 0) {
    return Differs(
        "action_kind and version", "RANK, 0",
        absl::StrCat(decision.action_kind(), ", ", decision.version()));
  }
  return CompareDraw(decision, draw_, "");
}

absl::StatusOr<Found> DecisionVerifier::Difference(
    const log::v1::Decision& decision) {
  const std::optional<ActionKind> kind = ActionKindOf(decision);
  if (!kind.has_value()) {
    return Differs("action_kind", "SELECT, RANK or SUBSET",
                   absl::StrCat(static_cast<int>(decision.action_kind())));
  }
  if (decision.has_aggregation()) return AggregateDifference(decision);
  Decider decider;
  ASSIGN_OR_RETURN(Found difference, FindDecider(decision, *kind, &decider));
  if (difference.has_value()) return difference;
  const absl::StatusOr<PolicyQuery> query = LoggedQuery(decision);
  if (!query.ok()) {
    return Found(
        absl::StrCat("cannot be recomputed: ", query.status().message()));
  }
  const LinearPolicy& policy = *decider.policy;
  const Hash128 key =
      LoggedKey(decision, decision.version(), decider.draw_salt);
  std::optional<BaselinePlan> plan;
  if (decision.has_interleaving()) {
    ASSIGN_OR_RETURN(difference, DrawInterleaved(decision, decider, *query));
    if (difference.has_value()) return difference;
  } else if (decision.has_baseline()) {
    plan = PlanOf(decision.baseline());
    difference = BaselineDifference(
        decision.baseline(),
        DecideWithBaseline(*plan, policy, *query, key,
                           BaselineNumber(decision.model(), decider.draw_salt,
                                          decision.decision_id()),
                           &workspace_, &draw_));
    if (difference.has_value()) return difference;
  } else {
    policy.Decide(*query, key, &workspace_, &draw_);
  }
  if (!workspace_.refusal.ok()) {
    return Found(
        absl::StrCat("cannot be recomputed: ", workspace_.refusal.message()));
  }
  if (kind == ActionKind::kSubset) {
    difference = CompareSubset(decision, policy, *query, draw_);
    if (difference.has_value()) return difference;
  } else if (decision.has_game_rounds()) {
    return Differs("game_rounds", "none", RoundsText(query->game.rounds));
  }
  const bool plays = decision.policy().game_subset().measure() ==
                     model::v1::GameSubset::F_BETA;
  std::string given;
  if (plays) {
    given =
        absl::StrCat(" with game_rounds = ", RoundsText(query->game.rounds));
  }
  if (!decider.notice.empty()) {
    absl::StrAppend(&given, " (", decider.notice, ")");
  }
  difference = CompareDraw(decision, draw_, given);
  if (difference.has_value() || !decision.has_arm()) return difference;
  const auto find = [&](uint64_t version)
      -> absl::StatusOr<std::shared_ptr<const LinearPolicy>> {
    if (version == decision.version()) return decider.policy;
    if (version == 0) {  // What serves until a version is loaded.
      return std::make_shared<const LinearPolicy>(
          LinearPolicy::Uniform(*kind, false));
    }
    ASSIGN_OR_RETURN(const LoadedModel* model, Load(decision.model(), version));
    return model->decider.policy;
  };
  return ArmDifference(decision, plan.has_value() ? &*plan : nullptr, *query,
                       draw_, find, &workspace_);
}

namespace {

// What a parser complains of is not printed.
class NoErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber,
                const std::string&) override {}
};

}  // namespace

bool IsImported(const log::v1::SegmentHeader& header) {
  if (header.kind() != log::v1::SegmentHeader::TUPLES) return false;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  NoErrors none;
  parser.RecordErrorsTo(&none);
  config::v1::LogImportOptions options;
  return parser.ParseFromString(header.options(), &options) &&
         options.has_format();
}

namespace {

class Verifier : public LogVisitor {
 public:
  Verifier(DecisionVerifier* verifier, VerifyResult* result)
      : verifier_(*verifier), result_(*result) {}

  void BeginSegment(const std::string& path) override {
    file_ = path;
    is_imported_ = false;
    decisions_.BeginSegment(path);
  }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& frame) override {
    offset_ = frame.offset;
    if (record.has_header()) is_imported_ = IsImported(record.header());
    if (record.has_decision()) {
      decisions_.Note(record.decision().decision_id(), frame.offset);
      return Check(record.decision());
    }
    if (record.has_shadow_view()) {
      const auto decision = decisions_.Find(record.shadow_view().decision_id());
      if (decision.has_value()) {
        return CheckView(*decision, record.shadow_view());
      }
      ++result_.lone_views;
    }
    if (!record.has_tuple()) return absl::OkStatus();
    RETURN_IF_ERROR(Check(record.tuple().decision()));
    for (const auto& view : record.tuple().shadow_views()) {
      RETURN_IF_ERROR(CheckView(record.tuple().decision(), view));
    }
    return absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t, uint64_t) override {
    ++result_.corrupt_records;
    return absl::OkStatus();
  }

  absl::Status EndSegment(const SegmentEnd&) override {
    return absl::OkStatus();
  }

 private:
  absl::Status Check(const log::v1::Decision& decision) {
    if (decision.action_kind() == log::v1::LABELS) {
      ++result_.labels;
      return absl::OkStatus();
    }
    const absl::StatusOr<Found> difference = verifier_.Difference(decision);
    if (is_imported_ && (!difference.ok() || difference->has_value())) {
      ++result_.imported;
      return absl::OkStatus();
    }
    return Count(decision.decision_id(), difference, &result_.verified);
  }

  absl::Status CheckView(const log::v1::Decision& decision,
                         const log::v1::ShadowView& view) {
    return Count(decision.decision_id(),
                 verifier_.ViewDifference(decision, view), &result_.views);
  }

  // Counts what differs, or what does not in `same`.
  absl::Status Count(const std::string& decision_id,
                     const absl::StatusOr<Found>& difference, uint64_t* same) {
    if (!difference.ok()) {
      return absl::Status(
          difference.status().code(),
          absl::StrCat(file_, " offset ", offset_, " decision ", decision_id,
                       ": ", difference.status().message()));
    }
    if (!difference->has_value()) {
      ++*same;
      return absl::OkStatus();
    }
    if (++result_.different > 1) return absl::OkStatus();
    result_.first_file = file_;
    result_.first_offset = offset_;
    result_.first_decision_id = decision_id;
    result_.first_difference = **difference;
    return absl::OkStatus();
  }

  DecisionVerifier& verifier_;
  VerifyResult& result_;
  DecisionFinder decisions_;
  std::string file_;
  uint64_t offset_ = 0;
  bool is_imported_ = false;  // The segment.
};

}  // namespace

absl::StatusOr<VerifyResult> VerifyLog(const std::vector<std::string>& entries,
                                       DecisionVerifier* verifier) {
  const auto start = std::chrono::steady_clock::now();
  VerifyResult result;
  Verifier visitor(verifier, &result);
  RETURN_IF_ERROR(ScanLog(entries, &visitor));
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

}  // namespace sortition
