// The "decision service" JSON of Vowpal Wabbit; docs/log_exchange.md says what
// of it is read.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/import/dsjson_columns.h"
#include "client/import/dsjson_features.h"
#include "client/import/imported_tuple.h"
#include "client/import/importer.h"
#include "client/import/json_importer.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/data/action.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

absl::Status Missing(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is missing"));
}

// Null stands for a member that is not there.
absl::StatusOr<std::optional<double>> OptionalNumber(const JsonValue* value,
                                                     const char* name) {
  if (value == nullptr) return std::optional<double>();
  ASSIGN_OR_RETURN(const double number, FiniteNumber(*value, name));
  return std::optional<double>(number);
}

absl::StatusOr<double> RequiredNumber(const JsonValue* value,
                                      const char* name) {
  if (value == nullptr) return Missing(name);
  return FiniteNumber(*value, name);
}

bool IsTrue(const JsonValue* value) {
  return value != nullptr && value->IsBool() && value->GetBool();
}

// Whether this is the action that `log export` adds for "no answer".
bool IsAbstention(const JsonValue& candidate) {
  return candidate.IsObject() && candidate.MemberCount() == 1 &&
         FindMember(candidate, "abstain") != nullptr;
}

// Members of an event, in any order.
enum Key {
  kLabelCost,
  kLabelProbability,
  kLabelAction,
  kLabelIndex,
  kLabelContinuous,
  kOutcomes,
  kReward,
  kOrderOutcomes,
  kSelectionOutcomes,
  kActions,
  kProbabilities,
  kContext,
  kEventId,
  kTimestamp,
  kEnqueuedTime,
  kRewardValue,
  kActionTaken,
  kIndex,
  kState,
  kDropped,
  kSkipLearn,
  kDeferred,
  kActionShown,
  kShownRanks,
  kSeenRanks,
  kCensored,
  kLogPropensity,
  kNumFeatures,
  kUnitId,
  kAttributes,
  kNumKeys,
  // States nothing that an estimate depends on.
  kHarmless = kNumKeys,
};

const absl::flat_hash_map<absl::string_view, Key>& Keys() {
  static const auto* const kKeys =
      new absl::flat_hash_map<absl::string_view, Key>{
          {"_label_cost", kLabelCost},
          {"_label_probability", kLabelProbability},
          {"_label_Action", kLabelAction},
          {"_labelIndex", kLabelIndex},
          {"_label_ca", kLabelContinuous},
          {"_outcomes", kOutcomes},
          {"_reward", kReward},
          {"_o", kOrderOutcomes},
          {"o", kSelectionOutcomes},
          {"a", kActions},
          {"p", kProbabilities},
          {"c", kContext},
          {"EventId", kEventId},
          {"Timestamp", kTimestamp},
          {"EnqueuedTimeUtc", kEnqueuedTime},
          {"RewardValue", kRewardValue},
          {"ActionTaken", kActionTaken},
          {"Index", kIndex},
          {"VWState", kState},
          {"pdrop", kDropped},
          {"_skipLearn", kSkipLearn},
          {"_deferred", kDeferred},
          {"_action_shown", kActionShown},
          {"_shown_ranks", kShownRanks},
          {"_seen_ranks", kSeenRanks},
          {"_censored", kCensored},
          {"_log_propensity", kLogPropensity},
          {"_num_features", kNumFeatures},
          {"_unit_id", kUnitId},
          {"_attributes", kAttributes},
          {"Version", kHarmless},
          {"_original_label_cost", kHarmless},
          {"_aid", kHarmless},
          {"_tag", kHarmless},
          {"DeferredAction", kHarmless},
      };
  return *kKeys;
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
  // Lines such as "[CHECKPOINT 17]" are between the events of some logs.
  bool IsMarker(absl::string_view line) override {
    if (line.size() < 2 || line[0] != '[' || !absl::ascii_isupper(line[1])) {
      return false;
    }
    report().left_out.Add("markers of the logging system ([NAME …)", place());
    return true;
  }

  absl::StatusOr<bool> Read(const JsonValue& object,
                            log::v1::BanditTuple* tuple) override {
    RETURN_IF_ERROR(FindMembers(object));
    const JsonValue* context = event_[kContext];
    if (context == nullptr) {
      ASSIGN_OR_RETURN(const bool is_reference, ReadReference());
      if (is_reference) return false;
    }
    RETURN_IF_ERROR(RefuseOtherKinds());
    const JsonValue* multi =
        context == nullptr ? nullptr : FindMember(*context, "_multi");
    if (multi == nullptr || !multi->IsArray() || multi->Empty()) {
      return absl::InvalidArgumentError(
          "c._multi is missing, must be an array of at least one candidate");
    }
    RETURN_IF_ERROR(ReadHead(tuple->mutable_decision()));
    if (!IsActive(tuple->decision())) return false;
    const JsonValue* outcomes = event_[kOutcomes];
    uint32_t num_candidates = multi->Size();
    if (outcomes != nullptr) {
      RETURN_IF_ERROR(ReadOrder(*outcomes, tuple));
      RETURN_IF_ERROR(ReadSlotRules(*context, num_candidates, tuple));
    } else {
      if (IsAbstention((*multi)[num_candidates - 1])) {
        tuple->mutable_decision()->set_can_abstain(true);
        --num_candidates;
      }
      RETURN_IF_ERROR(ReadSelection(num_candidates, tuple));
    }
    RETURN_IF_ERROR(ReadFeatures(*context, num_candidates, tuple));
    RETURN_IF_ERROR(
        outcomes == nullptr
            ? ReadFeedback(event_[kSelectionOutcomes], "o", std::nullopt, tuple)
            : ReadFeedback(event_[kOrderOutcomes], "_o", std::nullopt, tuple));
    if (outcomes != nullptr && event_[kSelectionOutcomes] != nullptr) {
      ReportUnusedKey("o");
    }
    JoinReward(tuple);
    for (const absl::string_view key : unused_) ReportUnusedKey(key);
    RETURN_IF_ERROR(ReadRest(tuple));
    return true;
  }

  // Reads a line that states the reward or the activation of a decision of
  // another line. Returns false if the line is neither.
  absl::StatusOr<bool> ReadReference() {
    const JsonValue* id = event_[kEventId];
    if (event_[kRewardValue] == nullptr && event_[kActionTaken] == nullptr) {
      return false;
    }
    if (id == nullptr) return Missing("EventId");
    ASSIGN_OR_RETURN(const absl::string_view text, IdText(*id, "EventId"));
    const Hash128 hash = HashBytes(text);
    for (const absl::string_view key : unused_) ReportUnusedKey(key);
    if (event_[kActionTaken] != nullptr) NoteActivation(hash);
    if (event_[kRewardValue] != nullptr) RETURN_IF_ERROR(NoteReward(hash));
    return true;
  }

  void NoteActivation(const Hash128& id) {
    if (!IsTrue(event_[kActionTaken])) {
      report().left_out.Add("lines that state that nothing was activated",
                            place());
    } else if (!sink().cross_references().AddActivation(id)) {
      report().left_out.Add("activations that no decision waits for", place());
    }
  }

  absl::Status NoteReward(const Hash128& id) {
    if (event_[kIndex] != nullptr) {
      report().left_out.Add("rewards of single slots in lines of their own",
                            place());
      return absl::OkStatus();
    }
    if (!IsNumber(*event_[kRewardValue])) {
      report().left_out.Add("rewards that are no number", place());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const double value,
                     FiniteNumber(*event_[kRewardValue], "RewardValue"));
    log::v1::Decision time;
    for (const auto& [stamp, key] :
         {std::pair{event_[kTimestamp], "Timestamp"},
          std::pair{event_[kEnqueuedTime], "EnqueuedTimeUtc"}}) {
      if (stamp == nullptr || time.time_us() != 0) continue;
      RETURN_IF_ERROR(ReadTime(*stamp, key, &time));
    }
    if (!sink().cross_references().AddReward(id, {value, time.time_us()})) {
      report().left_out.Add("rewards of no decision that was taken", place());
    }
    return absl::OkStatus();
  }

  absl::Status ReadTime(const JsonValue& stamp, absl::string_view name,
                        log::v1::Decision* decision) {
    if (!IsText(stamp) && !IsNumber(stamp)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", Describe(stamp), ", must be a number or a date"));
    }
    return sink().SetTime(TextOf(stamp), name, place(), decision);
  }

  // Vowpal Wabbit has further kinds of events, which look alike.
  absl::Status RefuseOtherKinds() const {
    const auto refuse = [](absl::string_view key, absl::string_view kind) {
      return absl::UnimplementedError(absl::StrCat(
          key, ": ", kind, " cannot be imported; must be a selection ",
          "(_label_Action) or an order (_outcomes)"));
    };
    if (event_[kLabelContinuous] != nullptr) {
      return refuse("_label_ca", "continuous actions");
    }
    const JsonValue* context = event_[kContext];
    const JsonValue* multi =
        context == nullptr ? nullptr : FindMember(*context, "_multi");
    if (multi == nullptr || !multi->IsArray()) return absl::OkStatus();
    for (const JsonValue& candidate : multi->GetArray()) {
      if (FindMember(candidate, "_slot_id") == nullptr) continue;
      return refuse("c._multi[]._slot_id", "slates");
    }
    return absl::OkStatus();
  }

  // Returns true if something else than the action was shown. `log export`
  // marks such decisions by `_skipLearn`, too, for Vowpal Wabbit.
  bool IsOverridden() const {
    return IsTrue(event_[kSkipLearn]) &&
           (event_[kActionShown] != nullptr || event_[kShownRanks] != nullptr);
  }

  // Returns false, and accounts for the decision, if its action was prepared
  // but never activated.
  bool IsActive(const log::v1::Decision& decision) {
    const bool is_deferred =
        IsTrue(event_[kSkipLearn]) || IsTrue(event_[kDeferred]);
    if (!is_deferred || IsOverridden()) return true;
    if (HasActivation(event_[kSelectionOutcomes]) ||
        HasActivation(event_[kOrderOutcomes])) {
      return true;
    }
    if (event_[kOutcomes] != nullptr && event_[kOutcomes]->IsArray()) {
      for (const JsonValue& slot : event_[kOutcomes]->GetArray()) {
        if (HasActivation(FindMember(slot, "_o"))) return true;
      }
    }
    const Hash128 hash = HashBytes(decision.decision_id());
    if (sink().cross_references().IsActivated(hash)) return true;
    sink().cross_references().AddInactive(hash);
    report().left_out.Add("decisions that were never activated (_skipLearn)",
                          place());
    return false;
  }

  // Returns true if one of the outcomes states that the action was used.
  static bool HasActivation(const JsonValue* outcomes) {
    if (outcomes == nullptr || !outcomes->IsArray()) return false;
    for (const JsonValue& outcome : outcomes->GetArray()) {
      if (IsTrue(FindMember(outcome, "ActionTaken"))) return true;
      const JsonValue* deferred = FindMember(outcome, "DeferredAction");
      if (deferred != nullptr && deferred->IsFalse()) return true;
    }
    return false;
  }

  absl::Status ReadHead(log::v1::Decision* decision) {
    RETURN_IF_ERROR(ReadId(event_[kEventId], "EventId", decision));
    if (const JsonValue* unit = event_[kUnitId]) {
      ASSIGN_OR_RETURN(const absl::string_view unit_id,
                       IdText(*unit, "_unit_id"));
      decision->set_unit_id(unit_id.data(), unit_id.size());
    }
    if (const JsonValue* attributes = event_[kAttributes]) {
      RETURN_IF_ERROR(ReadAttributes(*attributes, "_attributes", decision));
    }
    if (const JsonValue* time = event_[kTimestamp]) {
      RETURN_IF_ERROR(ReadTime(*time, "Timestamp", decision));
    }
    const JsonValue* state = event_[kState];
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

  absl::Status ReadSelection(uint32_t num_candidates,
                             log::v1::BanditTuple* tuple) {
    log::v1::Decision* decision = tuple->mutable_decision();
    decision->set_action_kind(log::v1::SELECT);
    const JsonValue* action = event_[kLabelAction];
    if (action == nullptr) return Missing("_label_Action");
    ASSIGN_OR_RETURN(int64_t place, Integer(*action, "_label_Action"));
    --place;
    if (const JsonValue* index = event_[kLabelIndex]) {
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
    ASSIGN_OR_RETURN(const double cost,
                     RequiredNumber(event_[kLabelCost], "_label_cost"));
    tuple->set_reward(0 - cost);
    ASSIGN_OR_RETURN(
        const double propensity,
        RequiredNumber(event_[kLabelProbability], "_label_probability"));
    ASSIGN_OR_RETURN(const std::optional<double> log_propensity,
                     OptionalNumber(event_[kLogPropensity], "_log_propensity"));
    CheckProbabilities(event_[kActions], event_[kProbabilities], propensity,
                       actions);
    return SetPropensity(propensity, log_propensity, decision);
  }

  // Reports probabilities that contradict each other. `chosen` is that of the
  // action, among this number of actions.
  void CheckProbabilities(const JsonValue* actions, const JsonValue* values,
                          double chosen, uint32_t num_actions) {
    constexpr double kTolerance = 1e-3;  // Some writers print few digits.
    if (values == nullptr || !values->IsArray() || values->Empty()) return;
    double sum = 0;
    for (const JsonValue& value : values->GetArray()) {
      double p = 0;
      if (!IsNumber(value) || !ParseNumber(TextOf(value), &p)) return;
      if (&value == values->Begin() && actions != nullptr &&
          std::abs(p - chosen) > kTolerance * chosen) {
        report().doubtful.Add(
            "decisions whose propensity is not the first of their "
            "probabilities",
            place());
      }
      sum += p;
    }
    if (values->Size() == num_actions && std::abs(sum - 1) > kTolerance) {
      report().doubtful.Add("decisions whose probabilities do not sum to 1",
                            place());
    }
  }

  absl::Status ReadOrder(const JsonValue& outcomes,
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
                     OptionalNumber(event_[kReward], "_reward"));
    tuple->set_reward(reward.value_or(0 - cost));
    ASSIGN_OR_RETURN(const std::optional<double> whole,
                     OptionalNumber(event_[kLogPropensity], "_log_propensity"));
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
    // A slot whose policy has one action may have it without a list.
    const auto first = [](const JsonValue* value) -> const JsonValue* {
      if (value == nullptr || !value->IsArray()) return value;
      return value->Empty() ? nullptr : value->Begin();
    };
    const JsonValue* chosen = first(actions);
    const JsonValue* probability = first(probabilities);
    if (chosen == nullptr || probability == nullptr) {
      return absl::InvalidArgumentError(
          "a slot of _outcomes needs _a and _p, which begin with what was "
          "chosen");
    }
    ASSIGN_OR_RETURN(const int32_t action, Integer(*chosen, "_a"));
    ASSIGN_OR_RETURN(const double p, FiniteNumber(*probability, "_p"));
    if (!(p > 0 && p <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("_p is ", p, ", must be in (0, 1]"));
    }
    decision->add_action(action);
    decision->add_conditional_log_propensities(std::log(p));
    ASSIGN_OR_RETURN(
        const double slot_cost,
        RequiredNumber(FindMember(slot, "_label_cost"), "_label_cost"));
    CheckProbabilities(actions, probabilities, p,
                       actions->IsArray() ? actions->Size() : 1);
    RETURN_IF_ERROR(ReadFeedback(
        FindMember(slot, "_o"), "_o",
        static_cast<uint32_t>(decision->action_size()) - 1, tuple));
    *cost += slot_cost;
    if (slot_cost != 0) {
      log::v1::RankReward* reward = tuple->add_rank_rewards();
      reward->set_rank(static_cast<uint32_t>(decision->action_size()) - 1);
      reward->set_reward(0 - slot_cost);
      reward->set_count(1);
    }
    return absl::OkStatus();
  }

  // Reads which candidates each slot may show (`_inc`).
  absl::Status ReadSlotRules(const JsonValue& context, uint32_t num_candidates,
                             log::v1::BanditTuple* tuple) {
    const JsonValue* slots = FindMember(context, "_slots");
    if (slots == nullptr || !slots->IsArray()) return absl::OkStatus();
    const log::v1::Decision& decision = tuple->decision();
    if (static_cast<int>(slots->Size()) != decision.action_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("_outcomes has ", decision.action_size(),
                       " slots, must have ", slots->Size(), ", as c._slots"));
    }
    std::vector<bool> first;
    for (uint32_t k = 0; k < slots->Size(); ++k) {
      const JsonValue& slot = (*slots)[k];
      if (!slot.IsObject()) continue;
      ReportSlotFeatures(slot);
      ASSIGN_OR_RETURN(const std::vector<bool> included,
                       ReadIncluded(slot, k, num_candidates));
      if (k == 0) first = included;
      if (included != first) {
        return absl::UnimplementedError(absl::StrCat(
            "c._slots[", k, "]._inc differs from c._slots[0]._inc; an order ",
            "whose slots choose from different candidates cannot be imported"));
      }
    }
    if (std::find(first.begin(), first.end(), false) == first.end()) {
      return absl::OkStatus();
    }
    for (const bool is_eligible : first) {
      tuple->mutable_decision()->add_eligible(is_eligible);
    }
    return absl::OkStatus();
  }

  // Returns for each candidate whether the slot may show it.
  static absl::StatusOr<std::vector<bool>> ReadIncluded(
      const JsonValue& slot, uint32_t k, uint32_t num_candidates) {
    const JsonValue* list = FindMember(slot, "_inc");
    if (list == nullptr || (list->IsArray() && list->Empty())) {
      return std::vector<bool>(num_candidates, true);
    }
    const std::string name = absl::StrCat("c._slots[", k, "]._inc");
    if (!list->IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", Describe(*list), ", must be an array of candidates"));
    }
    std::vector<bool> included(num_candidates, false);
    for (const JsonValue& value : list->GetArray()) {
      ASSIGN_OR_RETURN(const int32_t index, Integer(value, name));
      if (index < 0 || static_cast<uint32_t>(index) >= num_candidates) {
        return absl::InvalidArgumentError(absl::StrCat(
            name, " has ", index, ", must be in [0, ", num_candidates, ")"));
      }
      included[static_cast<size_t>(index)] = true;
    }
    return included;
  }

  // Policies here have no features of slots but the rank itself.
  void ReportSlotFeatures(const JsonValue& slot) {
    for (const auto& member : slot.GetObject()) {
      const absl::string_view name = TextOf(member.name);
      if (absl::StartsWith(name, "_") || name == "rank") continue;
      report().ignored.Add(
          absl::StrCat("features of slots (c._slots[].", Shown(name), ")"),
          place());
    }
  }

  absl::Status ReadFeatures(const JsonValue& context, uint32_t num_candidates,
                            log::v1::BanditTuple* tuple) {
    if (columns_) {
      return columns_->Read(context, num_candidates, tuple->mutable_decision());
    }
    std::optional<uint32_t> num_features;
    if (const JsonValue* number = event_[kNumFeatures]) {
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

  // Reads the outcomes in an array named `key`, which may be null: those of the
  // decision, or of a rank of its order.
  absl::Status ReadFeedback(const JsonValue* outcomes, const char* key,
                            std::optional<uint32_t> rank,
                            log::v1::BanditTuple* tuple) {
    if (outcomes == nullptr) return absl::OkStatus();
    if (!outcomes->IsArray()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, " is ", Describe(*outcomes), ", must be an array"));
    }
    for (const JsonValue& outcome : outcomes->GetArray()) {
      const JsonValue* value = FindMember(outcome, "v");
      if (value == nullptr || value->IsNull()) continue;
      tuple->set_has_feedback(true);
      const std::optional<std::string> id =
          FeedbackId(outcome, tuple->decision());
      if (!id || !IsNumber(*value)) continue;
      ASSIGN_OR_RETURN(const double reward,
                       FiniteNumber(*value, absl::StrCat(key, ".v")));
      log::v1::Feedback* feedback = tuple->add_feedback();
      feedback->set_feedback_id(*id);
      feedback->set_decision_id(tuple->decision().decision_id());
      feedback->set_reward(reward);
      if (rank) feedback->set_rank(*rank);
    }
    return absl::OkStatus();
  }

  // Returns the id of an outcome; nullopt if it names none, and empty if it
  // names only the decision, as the EventId of Vowpal Wabbit's outcomes does.
  static std::optional<std::string> FeedbackId(
      const JsonValue& outcome, const log::v1::Decision& decision) {
    std::optional<std::string> named;
    for (const char* key : {"_feedback_id", "EventId"}) {
      const JsonValue* id = FindMember(outcome, key);
      if (id == nullptr) continue;
      const absl::StatusOr<absl::string_view> text = IdText(*id, key);
      if (!text.ok()) continue;
      if (*text != decision.decision_id()) return std::string(*text);
      named.emplace();
    }
    return named;
  }

  // Gives a decision without feedback the reward that another line states.
  void JoinReward(log::v1::BanditTuple* tuple) {
    if (!sink().cross_references().is_applied()) return;
    const std::optional<CrossReferences::Reward> reward =
        sink().cross_references().RewardOf(
            HashBytes(tuple->decision().decision_id()));
    if (!reward) return;
    if (tuple->has_feedback()) {
      report().left_out.Add(
          "rewards of lines of their own, whose decision has feedback already",
          place());
      return;
    }
    report().assumed.Add(
        "decisions whose reward is the earliest of lines of their own",
        place());
    tuple->set_reward(reward->reward);
    tuple->set_has_feedback(true);
    log::v1::Feedback* feedback = tuple->add_feedback();
    feedback->set_decision_id(tuple->decision().decision_id());
    feedback->set_reward(reward->reward);
    feedback->set_time_us(reward->time_us);
  }

  // Finds all members at once. Parsers disagree about which of several members
  // with the same name counts.
  absl::Status FindMembers(const JsonValue& object) {
    event_.fill(nullptr);
    unused_.clear();
    for (const auto& member : object.GetObject()) {
      if (member.value.IsNull()) continue;  // Some writers state absence so.
      const auto key = Keys().find(TextOf(member.name));
      if (key == Keys().end()) {
        unused_.push_back(TextOf(member.name));
      } else if (key->second < kNumKeys) {
        if (event_[key->second] != nullptr) return Twice(key->first);
        event_[key->second] = &member.value;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadRest(log::v1::BanditTuple* tuple) {
    ASSIGN_OR_RETURN(const std::optional<double> dropped,
                     OptionalNumber(event_[kDropped], "pdrop"));
    if (dropped && !(*dropped >= 0 && *dropped < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("pdrop is ", *dropped, ", must be in [0, 1)"));
    }
    if (dropped) RETURN_IF_ERROR(SetKeepProbability(1 - *dropped, tuple));
    ImportedShown shown{.is_action = !IsOverridden()};
    RETURN_IF_ERROR(
        ReadRanks(event_[kShownRanks], "_shown_ranks", &shown.shown_ranks));
    RETURN_IF_ERROR(
        ReadRanks(event_[kSeenRanks], "_seen_ranks", &shown.seen_ranks));
    RETURN_IF_ERROR(SetShown(shown, tuple));
    if (IsTrue(event_[kCensored])) {
      tuple->add_censored(log::v1::CENSOR_REASON_UNSPECIFIED);
    }
    return absl::OkStatus();
  }

  static absl::Status ReadRanks(const JsonValue* value, const char* name,
                                std::optional<uint32_t>* ranks) {
    if (value == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int32_t number, Integer(*value, name));
    if (number < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", number, ", must be at least 0"));
    }
    *ranks = static_cast<uint32_t>(number);
    return absl::OkStatus();
  }

  // Members of the line: those that are read, and the names of others.
  std::array<const JsonValue*, kNumKeys> event_ = {};
  std::vector<absl::string_view> unused_;
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
