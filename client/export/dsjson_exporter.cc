// The "decision service" JSON of Vowpal Wabbit: selections as contextual
// bandits, orders as conditional contextual bandits. docs/log_exchange.md says
// what stands where.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/export/exporter.h"
#include "client/export/named_values.h"
#include "client/export/text_values.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

class DsjsonExporter : public Exporter {
 public:
  DsjsonExporter(const config::v1::LogExportOptions& options, std::string* out)
      : with_censored_(options.with_censored()), out_(out) {}

  absl::string_view Add(const log::v1::BanditTuple& tuple) override {
    const auto add = [this](const TupleView& view) -> absl::string_view {
      if (view.columns != nullptr) {
        const absl::string_view problem =
            FindNoNamespace(view.columns->schema());
        if (!problem.empty()) return problem;
      }
      switch (view.decision.action_kind()) {
        case log::v1::SELECT:
          AppendSelection(view);
          return {};
        case log::v1::RANK:
          if (!view.ConditionalLogPropensity(0)) {
            return "orders without the probability of each rank";
          }
          AppendOrder(view);
          return {};
        default:
          return "subsets, which dsjson does not have";
      }
    };
    return WithView(tuple, &columns_, add);
  }

 private:
  // Place of a candidate among those that are eligible: others are not written.
  static uint32_t PlaceOf(const TupleView& view, int32_t document_index) {
    uint32_t place = 0;
    for (int32_t i = 0; i < document_index; ++i) {
      if (view.query.is_eligible(static_cast<uint32_t>(i))) ++place;
    }
    return place;
  }

  // Returns whether the probability of the chosen one of `num_actions` actions
  // determines those of the others. The log does not have them.
  static bool DeterminesOthers(double probability, size_t num_actions) {
    return num_actions == 2 || probability == 1;
  }

  void Key(absl::string_view key) { absl::StrAppend(out_, "\"", key, "\":"); }

  void AppendCost(double reward) {
    Key("_label_cost");
    AppendJsonNumber(0 - reward, out_);
  }

  // Appends the probability of the chosen one of `num_actions` actions, and
  // those of the others if it determines them.
  void AppendProbabilities(double probability, size_t num_actions) {
    AppendJsonNumber(probability, out_);
    if (!DeterminesOthers(probability, num_actions)) return;
    for (size_t i = 1; i < num_actions; ++i) {
      out_->push_back(',');
      AppendJsonNumber(1 - probability, out_);
    }
  }

  // Readers of Vowpal Wabbit's project find the values by the order of the
  // keys: the labels, "o" and "_skipLearn" stand before "Timestamp", "a" stands
  // before "c", and nothing but "pdrop" after "VWState".
  void AppendSelection(const TupleView& view) {
    const auto num_eligible = static_cast<uint32_t>(NumEligible(view.decision));
    // No answer is the last action.
    const uint32_t num_actions =
        num_eligible + (view.decision.can_abstain() ? 1 : 0);
    const uint32_t place = view.is_abstained()
                               ? num_eligible
                               : PlaceOf(view, view.decision.action(0));
    out_->push_back('{');
    AppendCost(view.tuple.reward());
    out_->append(",\"_label_probability\":");
    AppendJsonNumber(view.propensity(), out_);
    absl::StrAppend(out_, ",\"_label_Action\":", place + 1,
                    ",\"_labelIndex\":", place, ",");
    if (AppendOutcomes("o", view.tuple)) out_->push_back(',');
    AppendSkipLearn(view.tuple);
    AppendHead(view.decision);
    absl::StrAppend(out_, ",\"a\":[", place + 1);
    for (uint32_t i = 0; i < num_actions; ++i) {
      if (i != place) absl::StrAppend(out_, ",", i + 1);
    }
    out_->append("],");
    AppendOwnKeys(view);
    AppendContext(view);
    out_->append(",\"p\":[");
    AppendProbabilities(view.propensity(), num_actions);
    out_->append("],");
    AppendEnd(view);
  }

  // Vowpal Wabbit needs the slots of "c" before "_outcomes".
  void AppendOrder(const TupleView& view) {
    out_->push_back('{');
    AppendSkipLearn(view.tuple);
    AppendHead(view.decision);
    out_->push_back(',');
    Key("_reward");
    AppendJsonNumber(view.tuple.reward(), out_);
    out_->push_back(',');
    if (AppendOutcomes("_o", view.tuple)) out_->push_back(',');
    AppendOwnKeys(view);
    AppendContext(view);
    out_->append(",\"_outcomes\":[");
    std::vector<bool> is_taken(static_cast<size_t>(NumEligible(view.decision)),
                               false);
    for (int rank = 0; rank < view.decision.action_size(); ++rank) {
      if (rank > 0) out_->push_back(',');
      AppendSlot(view, rank, &is_taken);
    }
    out_->append("],");
    AppendEnd(view);
  }

  // Marks the candidate of the rank in `is_taken`, which has those above it.
  // Vowpal Wabbit refuses a slot whose _a and _p have different lengths.
  void AppendSlot(const TupleView& view, int rank,
                  std::vector<bool>* is_taken) {
    const auto slot = static_cast<uint32_t>(rank);
    const log::v1::RankReward* reward = view.RewardOfRank(slot);
    const uint32_t place = PlaceOf(view, view.decision.action(rank));
    const double probability =
        std::min(1.0, std::exp(*view.ConditionalLogPropensity(slot)));
    const size_t num_left = is_taken->size() - slot;
    (*is_taken)[place] = true;
    out_->push_back('{');
    AppendCost(reward == nullptr ? 0 : reward->reward());
    absl::StrAppend(out_, ",\"_id\":\"", slot, "\",\"_a\":[", place);
    if (DeterminesOthers(probability, num_left)) {
      for (size_t i = 0; i < is_taken->size(); ++i) {
        if (!(*is_taken)[i]) absl::StrAppend(out_, ",", i);
      }
    }
    out_->append("],\"_p\":[");
    AppendProbabilities(probability, num_left);
    out_->append("]}");
  }

  // Appends one entry for each feedback. Returns false, appending nothing, if
  // there is none.
  bool AppendOutcomes(absl::string_view key,
                      const log::v1::BanditTuple& tuple) {
    if (!tuple.has_feedback() && tuple.feedback().empty()) return false;
    Key(key);
    out_->push_back('[');
    for (const log::v1::Feedback& feedback : tuple.feedback()) {
      if (out_->back() != '[') out_->push_back(',');
      // Vowpal Wabbit's outcomes have the id of the decision.
      out_->append("{\"EventId\":");
      AppendJsonString(tuple.decision().decision_id(), out_);
      if (!feedback.feedback_id().empty()) {
        out_->append(",\"_feedback_id\":");
        AppendJsonString(feedback.feedback_id(), out_);
      }
      out_->append(",\"v\":");
      AppendJsonNumber(feedback.reward(), out_);
      out_->push_back('}');
    }
    if (tuple.has_feedback() && tuple.feedback().empty()) {
      out_->append("{\"v\":");
      AppendJsonNumber(tuple.reward(), out_);
      out_->push_back('}');
    }
    out_->push_back(']');
    return true;
  }

  void AppendContext(const TupleView& view) {
    out_->append("\"c\":{");
    if (view.columns != nullptr) {
      AppendColumns(*view.columns, model::v1::ColumnSchema::QUERY, 0);
      if (out_->back() != '{') out_->push_back(',');
    }
    out_->append("\"_multi\":[");
    for (uint32_t i = 0; i < view.query.num_candidates(); ++i) {
      if (!view.query.is_eligible(i)) continue;
      if (out_->back() != '[') out_->push_back(',');
      if (view.columns != nullptr) {
        out_->push_back('{');
        AppendColumns(*view.columns, model::v1::ColumnSchema::CANDIDATE, i);
        out_->push_back('}');
      } else {
        AppendCandidate(view.query.candidates, i);
      }
    }
    if (view.decision.action_kind() == log::v1::SELECT &&
        view.decision.can_abstain()) {
      out_->append(",{\"abstain\":{\"abstain\":1}}");
    }
    out_->push_back(']');
    if (view.decision.action_kind() == log::v1::RANK) {
      out_->append(",\"_slots\":[");
      for (int rank = 0; rank < view.decision.action_size(); ++rank) {
        absl::StrAppend(out_, rank == 0 ? "" : ",", "{\"_id\":\"", rank,
                        "\",\"rank\":{\"r", rank, "\":1}}");
      }
      out_->push_back(']');
    }
    out_->push_back('}');
  }

  // The columns of a scope, a namespace each.
  void AppendColumns(const UndeclaredColumns& columns,
                     model::v1::ColumnSchema::Scope scope, uint32_t row) {
    const Schema& schema = columns.schema();
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema.column(i).scope() != scope) continue;
      if (out_->back() != '{') out_->push_back(',');
      AppendNamespace(schema.column(i), columns.columns().column(i), row, out_);
    }
  }

  void AppendCandidate(const Candidates& candidates, uint32_t i) {
    if (!candidates.sparse()) {
      out_->append("{\"f\":[");
      AppendFloats(DenseRow(candidates, i), out_);
      out_->append("]}");
      return;
    }
    out_->append("{\"f\":{");
    ForEachFeature(candidates, i, [&](uint32_t column, float value) {
      if (out_->back() != '{') out_->push_back(',');
      absl::StrAppend(out_, "\"", column, "\":");
      AppendNumber(value, out_);
    });
    out_->append("}}");
  }

  void AppendSkipLearn(const log::v1::BanditTuple& tuple) {
    if (ShownDiffers(tuple)) out_->append("\"_skipLearn\":true,");
  }

  void AppendHead(const log::v1::Decision& decision) {
    out_->append("\"Timestamp\":\"");
    AppendTimestamp(decision.time_us(), out_);
    out_->append("\",\"Version\":\"1\",\"EventId\":");
    AppendJsonString(decision.decision_id(), out_);
    // Before "a": some readers look for it from the 16th character of the id
    // on.
    out_->append(",\"_log_propensity\":");
    AppendJsonNumber(decision.log_propensity(), out_);
  }

  // Appends what Vowpal Wabbit has no key for, each with a comma behind it.
  void AppendOwnKeys(const TupleView& view) {
    const log::v1::Decision& decision = view.decision;
    if (view.columns == nullptr) {
      absl::StrAppend(out_, "\"_num_features\":", decision.num_features(), ",");
    }
    if (!decision.unit_id().empty()) {
      Key("_unit_id");
      AppendJsonString(decision.unit_id(), out_);
      out_->push_back(',');
    }
    if (!decision.attributes().empty()) {
      Key("_attributes");
      AppendAttributes(decision, out_);
      out_->push_back(',');
    }
    AppendRanks(view.tuple);
    if (with_censored_) {
      absl::StrAppend(out_, "\"_censored\":",
                      view.tuple.censored_size() > 0 ? "true," : "false,");
    }
  }

  // Leaves out what follows from _skipLearn: all ranks were shown, or none.
  void AppendRanks(const log::v1::BanditTuple& tuple) {
    const bool differs = ShownDiffers(tuple);
    const uint32_t ranks = ShownRanks(tuple);
    // Vowpal Wabbit marks events that were never activated by _skipLearn, too.
    if (differs) out_->append("\"_action_shown\":false,");
    if (ranks != (differs ? 0 : NumRanks(tuple.decision()))) {
      absl::StrAppend(out_, "\"_shown_ranks\":", ranks, ",");
    }
    if (tuple.shown().has_seen_ranks()) {
      absl::StrAppend(out_, "\"_seen_ranks\":", tuple.shown().seen_ranks(),
                      ",");
    }
  }

  void AppendEnd(const TupleView& view) {
    out_->append("\"VWState\":{\"m\":");
    AppendJsonString(
        absl::StrCat(view.decision.model(), "/", view.decision.version()),
        out_);
    out_->push_back('}');
    const double keep = view.tuple.keep_probability();
    if (keep != 0 && keep != 1) {
      out_->append(",\"pdrop\":");
      AppendJsonNumber(1 - keep, out_);
    }
    out_->append("}\n");
  }

  const bool with_censored_;
  std::string* const out_;
  UndeclaredColumns columns_;
};

}  // namespace

std::unique_ptr<Exporter> MakeDsjsonExporter(
    const config::v1::LogExportOptions& options, std::string* out) {
  return std::make_unique<DsjsonExporter>(options, out);
}

}  // namespace sortition
