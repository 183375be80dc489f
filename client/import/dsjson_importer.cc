// The "decision service" JSON of Vowpal Wabbit; docs/log_exchange.md says what
// of it is read.
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/import/dsjson_columns.h"
#include "client/import/dsjson_features.h"
#include "client/import/imported_tuple.h"
#include "client/import/importer.h"
#include "client/import/json_importer.h"
#include "core/base/status_macros.h"
#include "core/data/action.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

absl::Status Missing(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is missing"));
}

absl::StatusOr<std::optional<double>> OptionalNumber(const JsonValue& object,
                                                     const char* name) {
  const JsonValue* value = FindMember(object, name);
  if (value == nullptr) return std::optional<double>();
  ASSIGN_OR_RETURN(const double number, FiniteNumber(*value, name));
  return std::optional<double>(number);
}

absl::StatusOr<double> RequiredNumber(const JsonValue& object,
                                      const char* name) {
  const JsonValue* value = FindMember(object, name);
  if (value == nullptr) return Missing(name);
  return FiniteNumber(*value, name);
}

bool IsTrue(const JsonValue& object, const char* name) {
  const JsonValue* value = FindMember(object, name);
  return value != nullptr && value->IsBool() && value->GetBool();
}

// Whether this is the action that `log export` adds for "no answer".
bool IsAbstention(const JsonValue& candidate) {
  return candidate.IsObject() && candidate.MemberCount() == 1 &&
         FindMember(candidate, "abstain") != nullptr;
}

class DsjsonImporter : public JsonImporter {
 public:
  DsjsonImporter(const config::v1::LogImportOptions& options, FileSchema schema,
                 ImportSink* sink)
      : JsonImporter(options, sink),
        features_(options.hash_bits()),
        schema_(std::move(schema)) {
    if (schema_ != nullptr) columns_.emplace(*schema_);
  }

 private:
  absl::Status Read(const JsonValue& object,
                    log::v1::BanditTuple* tuple) override {
    RETURN_IF_ERROR(ReadHead(object, tuple->mutable_decision()));
    const JsonValue* context = FindMember(object, "c");
    const JsonValue* multi =
        context == nullptr ? nullptr : FindMember(*context, "_multi");
    if (multi == nullptr || !multi->IsArray() || multi->Empty()) {
      return absl::InvalidArgumentError(
          "c._multi is missing, must be an array of at least one candidate");
    }
    const JsonValue* outcomes = FindMember(object, "_outcomes");
    uint32_t num_candidates = multi->Size();
    if (outcomes != nullptr) {
      RETURN_IF_ERROR(ReadOrder(object, *outcomes, tuple));
    } else {
      if (IsAbstention((*multi)[num_candidates - 1])) {
        tuple->mutable_decision()->set_can_abstain(true);
        --num_candidates;
      }
      RETURN_IF_ERROR(ReadSelection(object, num_candidates, tuple));
    }
    RETURN_IF_ERROR(ReadFeatures(object, *context, num_candidates, tuple));
    RETURN_IF_ERROR(
        ReadFeedback(object, outcomes == nullptr ? "o" : "_o", tuple));
    return ReadRest(object, tuple);
  }

  absl::Status ReadHead(const JsonValue& object, log::v1::Decision* decision) {
    const JsonValue* id = FindMember(object, "EventId");
    if (id == nullptr) return Missing("EventId");
    ASSIGN_OR_RETURN(const absl::string_view text, IdText(*id, "EventId"));
    decision->set_decision_id(text.data(), text.size());
    if (const JsonValue* unit = FindMember(object, "_unit_id")) {
      ASSIGN_OR_RETURN(const absl::string_view unit_id,
                       IdText(*unit, "_unit_id"));
      decision->set_unit_id(unit_id.data(), unit_id.size());
    }
    if (const JsonValue* attributes = FindMember(object, "_attributes")) {
      RETURN_IF_ERROR(ReadAttributes(*attributes, "_attributes", decision));
    }
    if (const JsonValue* time = FindMember(object, "Timestamp")) {
      ASSIGN_OR_RETURN(const absl::string_view stamp, Text(*time, "Timestamp"));
      int64_t time_us = 0;
      RETURN_IF_ERROR(ParseTimestamp(stamp, "Timestamp", &time_us));
      decision->set_time_us(time_us);
    }
    const JsonValue* state = FindMember(object, "VWState");
    const JsonValue* model =
        state == nullptr ? nullptr : FindMember(*state, "m");
    if (model != nullptr && IsText(*model)) {
      SetModelName(TextOf(*model), decision);
    }
    return absl::OkStatus();
  }

  // Takes "name/version"; others have names of their own kind.
  static void SetModelName(absl::string_view text,
                           log::v1::Decision* decision) {
    const size_t slash = text.rfind('/');
    uint64_t version = 0;
    if (slash == absl::string_view::npos ||
        !ParseNumber(text.substr(slash + 1), &version)) {
      return;
    }
    decision->set_model(text.data(), slash);
    decision->set_version(version);
  }

  absl::Status ReadSelection(const JsonValue& object, uint32_t num_candidates,
                             log::v1::BanditTuple* tuple) {
    log::v1::Decision* decision = tuple->mutable_decision();
    decision->set_action_kind(log::v1::SELECT);
    const JsonValue* action = FindMember(object, "_label_Action");
    if (action == nullptr) return Missing("_label_Action");
    ASSIGN_OR_RETURN(int64_t place, Integer(*action, "_label_Action"));
    --place;
    if (const JsonValue* index = FindMember(object, "_labelIndex")) {
      ASSIGN_OR_RETURN(const int32_t same, Integer(*index, "_labelIndex"));
      if (same != place) {
        return absl::InvalidArgumentError(
            absl::StrCat("_labelIndex is ", same, ", must be ", place,
                         ", one less than _label_Action"));
      }
    }
    const uint32_t actions = num_candidates + (decision->can_abstain() ? 1 : 0);
    if (place < 0 || place >= actions) {
      return absl::InvalidArgumentError(absl::StrCat(
          "_label_Action is ", place + 1, ", must be in [1, ", actions, "]"));
    }
    decision->add_action(place == num_candidates ? kAbstain
                                                 : static_cast<int32_t>(place));
    ASSIGN_OR_RETURN(const double cost, RequiredNumber(object, "_label_cost"));
    tuple->set_reward(0 - cost);
    ASSIGN_OR_RETURN(const double propensity,
                     RequiredNumber(object, "_label_probability"));
    ASSIGN_OR_RETURN(const std::optional<double> log_propensity,
                     OptionalNumber(object, "_log_propensity"));
    return SetPropensity(propensity, log_propensity, decision);
  }

  absl::Status ReadOrder(const JsonValue& object, const JsonValue& outcomes,
                         log::v1::BanditTuple* tuple) {
    log::v1::Decision* decision = tuple->mutable_decision();
    decision->set_action_kind(log::v1::RANK);
    if (!outcomes.IsArray() || outcomes.Empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("_outcomes is ", Describe(outcomes),
                       ", must be an array with at least one slot"));
    }
    double cost = 0;
    double log_propensity = 0;
    for (const JsonValue& slot : outcomes.GetArray()) {
      RETURN_IF_ERROR(ReadSlot(slot, tuple, &cost));
      log_propensity += decision->conditional_log_propensities().rbegin()[0];
    }
    decision->set_top_k(outcomes.Size());
    ASSIGN_OR_RETURN(const std::optional<double> reward,
                     OptionalNumber(object, "_reward"));
    tuple->set_reward(reward.value_or(0 - cost));
    ASSIGN_OR_RETURN(const std::optional<double> whole,
                     OptionalNumber(object, "_log_propensity"));
    return SetPropensity(std::nullopt, whole.value_or(log_propensity),
                         decision);
  }

  // Reads the action of a rank, its probability given those above it, and adds
  // its cost.
  absl::Status ReadSlot(const JsonValue& slot, log::v1::BanditTuple* tuple,
                        double* cost) {
    log::v1::Decision* decision = tuple->mutable_decision();
    const JsonValue* actions = FindMember(slot, "_a");
    const JsonValue* probabilities = FindMember(slot, "_p");
    for (const JsonValue* array : {actions, probabilities}) {
      if (array == nullptr || !array->IsArray() || array->Empty()) {
        return absl::InvalidArgumentError(
            "a slot of _outcomes needs _a and _p, which begin with what was "
            "chosen");
      }
    }
    ASSIGN_OR_RETURN(const int32_t action, Integer((*actions)[0], "_a"));
    ASSIGN_OR_RETURN(const double p, FiniteNumber((*probabilities)[0], "_p"));
    if (!(p > 0 && p <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("_p is ", p, ", must be in (0, 1]"));
    }
    decision->add_action(action);
    decision->add_conditional_log_propensities(std::log(p));
    ASSIGN_OR_RETURN(const double slot_cost,
                     RequiredNumber(slot, "_label_cost"));
    *cost += slot_cost;
    if (slot_cost != 0) {
      log::v1::RankReward* reward = tuple->add_rank_rewards();
      reward->set_rank(static_cast<uint32_t>(decision->action_size()) - 1);
      reward->set_reward(0 - slot_cost);
      reward->set_count(1);
    }
    return absl::OkStatus();
  }

  absl::Status ReadFeatures(const JsonValue& object, const JsonValue& context,
                            uint32_t num_candidates,
                            log::v1::BanditTuple* tuple) {
    if (columns_) {
      return columns_->Read(context, num_candidates, tuple->mutable_decision());
    }
    std::optional<uint32_t> num_features;
    if (const JsonValue* number = FindMember(object, "_num_features")) {
      ASSIGN_OR_RETURN(const int32_t d, Integer(*number, "_num_features"));
      if (d < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("_num_features is ", d, ", must be at least 1"));
      }
      num_features = static_cast<uint32_t>(d);
    }
    return features_.Read(context, num_candidates, num_features,
                          tuple->mutable_decision());
  }

  absl::Status ReadFeedback(const JsonValue& object, const char* key,
                            log::v1::BanditTuple* tuple) {
    const JsonValue* outcomes = FindMember(object, key);
    if (outcomes == nullptr) return absl::OkStatus();
    if (!outcomes->IsArray()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, " is ", Describe(*outcomes), ", must be an array"));
    }
    for (const JsonValue& outcome : outcomes->GetArray()) {
      const JsonValue* value = FindMember(outcome, "v");
      if (value == nullptr) continue;
      tuple->set_has_feedback(true);
      const JsonValue* id = FindMember(outcome, "EventId");
      if (id == nullptr || !IsNumber(*value)) continue;
      const absl::StatusOr<absl::string_view> text = IdText(*id, "o.EventId");
      if (!text.ok()) continue;
      log::v1::Feedback* feedback = tuple->add_feedback();
      feedback->set_feedback_id(std::string(*text));
      feedback->set_decision_id(tuple->decision().decision_id());
      ASSIGN_OR_RETURN(const double reward, FiniteNumber(*value, "o.v"));
      feedback->set_reward(reward);
    }
    return absl::OkStatus();
  }

  absl::Status ReadRest(const JsonValue& object, log::v1::BanditTuple* tuple) {
    ASSIGN_OR_RETURN(const std::optional<double> dropped,
                     OptionalNumber(object, "pdrop"));
    if (dropped && !(*dropped >= 0 && *dropped < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("pdrop is ", *dropped, ", must be in [0, 1)"));
    }
    if (dropped) RETURN_IF_ERROR(SetKeepProbability(1 - *dropped, tuple));
    ImportedShown shown{.is_action = !IsTrue(object, "_skipLearn")};
    RETURN_IF_ERROR(ReadRanks(object, "_shown_ranks", &shown.shown_ranks));
    RETURN_IF_ERROR(ReadRanks(object, "_seen_ranks", &shown.seen_ranks));
    RETURN_IF_ERROR(SetShown(shown, tuple));
    if (IsTrue(object, "_censored")) {
      tuple->add_censored(log::v1::CENSOR_REASON_UNSPECIFIED);
    }
    return absl::OkStatus();
  }

  static absl::Status ReadRanks(const JsonValue& object, const char* name,
                                std::optional<uint32_t>* ranks) {
    const JsonValue* value = FindMember(object, name);
    if (value == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int32_t number, Integer(*value, name));
    if (number < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", number, ", must be at least 0"));
    }
    *ranks = static_cast<uint32_t>(number);
    return absl::OkStatus();
  }

  DsjsonFeatures features_;
  const FileSchema schema_;
  std::optional<DsjsonColumns> columns_;  // Set where there is a schema.
};

}  // namespace

std::unique_ptr<Importer> MakeDsjsonImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink) {
  return std::make_unique<DsjsonImporter>(options, std::move(schema), sink);
}

}  // namespace sortition
