// The "decision service" JSON of Vowpal Wabbit: selections as contextual
// bandits, orders as conditional contextual bandits. docs/log_exchange.md says
// what stands where.
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

  void Key(absl::string_view key) { absl::StrAppend(out_, "\"", key, "\":"); }

  void AppendCost(double reward) {
    Key("_label_cost");
    AppendJsonNumber(0 - reward, out_);
  }

  void AppendSelection(const TupleView& view) {
    // No answer is the last action.
    const uint32_t place =
        view.is_abstained() ? static_cast<uint32_t>(NumEligible(view.decision))
                            : PlaceOf(view, view.decision.action(0));
    std::string probability;
    AppendJsonNumber(view.propensity(), &probability);
    out_->push_back('{');
    AppendCost(view.tuple.reward());
    absl::StrAppend(out_, ",\"_label_probability\":", probability,
                    ",\"_label_Action\":", place + 1,
                    ",\"_labelIndex\":", place, ",");
    AppendOutcomes("o", view.tuple);
    absl::StrAppend(out_, ",\"a\":[", place + 1, "],\"p\":[", probability,
                    "],");
    AppendContext(view);
    AppendRest(view);
  }

  void AppendOrder(const TupleView& view) {
    out_->append("{\"_outcomes\":[");
    for (int rank = 0; rank < view.decision.action_size(); ++rank) {
      const auto slot = static_cast<uint32_t>(rank);
      if (rank > 0) out_->push_back(',');
      out_->push_back('{');
      const log::v1::RankReward* reward = view.RewardOfRank(slot);
      AppendCost(reward == nullptr ? 0 : reward->reward());
      absl::StrAppend(out_, ",\"_id\":\"", slot, "\",\"_a\":[",
                      PlaceOf(view, view.decision.action(rank)), "],\"_p\":[");
      AppendJsonNumber(std::exp(*view.ConditionalLogPropensity(slot)), out_);
      out_->append("]}");
    }
    out_->append("],");
    Key("_reward");
    AppendJsonNumber(view.tuple.reward(), out_);
    out_->push_back(',');
    AppendOutcomes("_o", view.tuple);
    out_->push_back(',');
    AppendContext(view);
    AppendRest(view);
  }

  // One entry for each feedback.
  void AppendOutcomes(absl::string_view key,
                      const log::v1::BanditTuple& tuple) {
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

  void AppendRest(const TupleView& view) {
    const log::v1::Decision& decision = view.decision;
    out_->append(",\"Timestamp\":\"");
    AppendTimestamp(decision.time_us(), out_);
    out_->append("\",\"Version\":\"1\",\"EventId\":");
    AppendJsonString(decision.decision_id(), out_);
    out_->append(",\"VWState\":{\"m\":");
    AppendJsonString(absl::StrCat(decision.model(), "/", decision.version()),
                     out_);
    out_->append("},\"_log_propensity\":");
    AppendJsonNumber(decision.log_propensity(), out_);
    if (view.columns == nullptr) {
      absl::StrAppend(out_, ",\"_num_features\":", decision.num_features());
    }
    if (!decision.unit_id().empty()) {
      out_->append(",\"_unit_id\":");
      AppendJsonString(decision.unit_id(), out_);
    }
    if (!decision.attributes().empty()) {
      out_->append(",\"_attributes\":");
      AppendAttributes(decision, out_);
    }
    const double keep = view.tuple.keep_probability();
    if (keep != 0 && keep != 1) {
      out_->append(",\"pdrop\":");
      AppendJsonNumber(1 - keep, out_);
    }
    AppendShown(view.tuple);
    if (with_censored_) {
      out_->append(view.tuple.censored_size() > 0 ? ",\"_censored\":true"
                                                  : ",\"_censored\":false");
    }
    out_->append("}\n");
  }

  // What is not said is what follows from _skipLearn: all ranks were shown, or
  // none.
  void AppendShown(const log::v1::BanditTuple& tuple) {
    const bool differs = ShownDiffers(tuple);
    const uint32_t ranks = ShownRanks(tuple);
    if (differs) out_->append(",\"_skipLearn\":true,\"_action_shown\":false");
    if (ranks != (differs ? 0 : NumRanks(tuple.decision()))) {
      absl::StrAppend(out_, ",\"_shown_ranks\":", ranks);
    }
    if (tuple.shown().has_seen_ranks()) {
      absl::StrAppend(out_, ",\"_seen_ranks\":", tuple.shown().seen_ranks());
    }
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
