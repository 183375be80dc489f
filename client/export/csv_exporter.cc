// CSV as RFC 4180 has it, with a header, lines ended by \n: a line for each
// candidate, or for each decision without features.
#include "absl/strings/str_cat.h"
#include "client/export/exporter.h"
#include "client/export/named_values.h"
#include "client/export/text_values.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

void AppendFlag(bool value, std::string* out) {
  out->append(value ? ",1" : ",0");
}

class CsvExporter : public Exporter {
 public:
  CsvExporter(const config::v1::LogExportOptions& options, std::string* out)
      : options_(options),
        by_decision_(options.rows() == "decision"),
        out_(out) {}

  bool Survey(const log::v1::BanditTuple& tuple) override {
    if (by_decision_) return false;
    if (!ActionKindOf(tuple.decision())) return true;  // It has no line.
    // The first tuple decides whether there are features or named columns.
    if (!tuple.decision().has_columns()) return !cells_.empty();
    cells_.Survey(tuple.decision());
    return true;
  }

  absl::string_view Add(const log::v1::BanditTuple& tuple) override {
    const auto add = [this](const TupleView& view) -> absl::string_view {
      const absl::string_view problem = by_decision_ ? "" : Begin(view);
      if (!problem.empty()) return problem;
      AppendHead(view);
      AppendTail(view);
      if (by_decision_) {
        if (!has_header_) WriteHeader();
        AppendDecision(view);
        return {};
      }
      for (uint32_t i = 0; i < view.chosen.size(); ++i) {
        AppendCandidate(view, i);
      }
      return {};
    };
    return WithView(tuple, &columns_, add);
  }

 private:
  // Returns why the tuple does not fit the header, which it may write; or
  // nothing.
  absl::string_view Begin(const TupleView& view) {
    if (view.columns != nullptr) {
      if (cells_.empty()) {
        return "named columns, where the first tuple has features";
      }
      const absl::string_view problem = cells_.Begin(view);
      if (problem.empty() && !has_header_) WriteHeader();
      return problem;
    }
    if (!cells_.empty()) {
      return "features, where the first tuple has named columns";
    }
    const Candidates& candidates = view.query.candidates;
    if (!has_header_) {
      num_features_ = candidates.num_features();
      sparse_ = options_.features() == "sparse" ||
                (options_.features() == "auto" && candidates.sparse());
      WriteHeader();
    }
    if (!sparse_ && candidates.num_features() != num_features_) {
      return kOtherFeatures;
    }
    return {};
  }

  void WriteHeader() {
    has_header_ = true;
    absl::StrAppend(out_, "decision_id,time_us,unit_id,model,version,",
                    "action_kind,",
                    by_decision_ ? "num_candidates,num_eligible,action,"
                                   "shown_ranks,"
                                 : "document_index,candidate_id,eligible,"
                                   "chosen,conditional_log_propensity,"
                                   "rank_reward,rank_shown,rank_seen,",
                    "propensity,log_propensity,reward,has_feedback,",
                    "action_shown,seen_ranks,can_abstain,keep_probability",
                    options_.with_censored() ? ",censored" : "",
                    options_.attributes().empty() ? ",attributes" : "");
    for (const std::string& name : options_.attributes()) {
      out_->push_back(',');
      AppendCsvField(absl::StrCat("attribute.", name), out_);
    }
    if (!by_decision_) AppendFeatureNames();
    out_->push_back('\n');
  }

  void AppendFeatureNames() {
    if (!cells_.empty()) return cells_.AppendHeader(out_);
    if (sparse_) {
      out_->append(",num_features,features");
      return;
    }
    for (uint32_t j = 0; j < num_features_; ++j) {
      absl::StrAppend(out_, ",f", j);
    }
  }

  // What all lines of a decision begin with.
  void AppendHead(const TupleView& view) {
    const log::v1::Decision& decision = view.decision;
    head_.clear();
    AppendCsvField(decision.decision_id(), &head_);
    absl::StrAppend(&head_, ",", decision.time_us(), ",");
    AppendCsvField(decision.unit_id(), &head_);
    head_.push_back(',');
    AppendCsvField(decision.model(), &head_);
    absl::StrAppend(&head_, ",", decision.version(), ",",
                    log::v1::ActionKind_Name(decision.action_kind()));
  }

  // What they have before the features.
  void AppendTail(const TupleView& view) {
    const log::v1::BanditTuple& tuple = view.tuple;
    shown_ranks_ = ShownRanks(tuple);
    seen_ranks_ = SeenRanks(tuple);
    tail_.clear();
    tail_.push_back(',');
    AppendNumber(view.propensity(), &tail_);
    tail_.push_back(',');
    AppendNumber(view.decision.log_propensity(), &tail_);
    tail_.push_back(',');
    AppendNumber(tuple.reward(), &tail_);
    AppendFlag(tuple.has_feedback(), &tail_);
    AppendFlag(!ShownDiffers(tuple), &tail_);
    tail_.push_back(',');
    if (tuple.shown().has_seen_ranks()) {
      AppendNumber(tuple.shown().seen_ranks(), &tail_);
    }
    AppendFlag(view.decision.can_abstain(), &tail_);
    tail_.push_back(',');
    if (tuple.keep_probability() != 0) {
      AppendNumber(tuple.keep_probability(), &tail_);
    } else {
      tail_.push_back('1');
    }
    if (options_.with_censored()) AppendFlag(tuple.censored_size() > 0, &tail_);
    AppendAttributeCells(view.decision);
  }

  void AppendAttributeCells(const log::v1::Decision& decision) {
    const auto& attributes = decision.attributes();
    for (const std::string& name : options_.attributes()) {
      tail_.push_back(',');
      const auto found = attributes.find(name);
      if (found != attributes.end()) AppendCsvField(found->second, &tail_);
    }
    if (!options_.attributes().empty()) return;
    tail_.push_back(',');
    if (attributes.empty()) return;
    std::string object;
    AppendAttributes(decision, &object);
    AppendCsvField(object, &tail_);
  }

  void AppendDecision(const TupleView& view) {
    absl::StrAppend(out_, head_, ",", view.chosen.size(), ",",
                    NumEligible(view.decision), ",");
    for (int i = 0; i < view.decision.action_size(); ++i) {
      if (i > 0) out_->push_back(' ');
      AppendNumber(view.decision.action(i), out_);
    }
    absl::StrAppend(out_, ",", shown_ranks_, tail_, "\n");
  }

  void AppendCandidate(const TupleView& view, uint32_t i) {
    const log::v1::Decision& decision = view.decision;
    absl::StrAppend(out_, head_, ",", i, ",");
    if (static_cast<int>(i) < decision.candidate_ids_size()) {
      AppendCsvField(decision.candidate_ids(static_cast<int>(i)), out_);
    }
    AppendFlag(view.query.is_eligible(i), out_);
    absl::StrAppend(out_, ",", view.chosen[i], ",");
    if (view.chosen[i] != 0) {
      const uint32_t rank = view.chosen[i] - 1;
      const auto conditional = view.ConditionalLogPropensity(rank);
      if (conditional) AppendNumber(*conditional, out_);
      out_->push_back(',');
      const log::v1::RankReward* reward =
          decision.action_kind() == log::v1::RANK ? view.RewardOfRank(rank)
                                                  : nullptr;
      if (reward != nullptr) AppendNumber(reward->reward(), out_);
    } else {
      out_->push_back(',');
    }
    AppendShown(view, view.chosen[i]);
    out_->append(tail_);
    if (view.columns != nullptr) {
      cells_.AppendRow(i, out_);
    } else {
      AppendFeatures(view.query.candidates, i);
    }
    out_->push_back('\n');
  }

  // Says whether the rank of a candidate was shown and seen. `chosen` is as in
  // TupleView; members of a subset have no rank.
  void AppendShown(const TupleView& view, uint32_t chosen) {
    if (chosen == 0 || view.decision.action_kind() == log::v1::SUBSET) {
      out_->append(",,");
      return;
    }
    AppendFlag(chosen <= shown_ranks_, out_);
    AppendFlag(chosen <= seen_ranks_, out_);
  }

  void AppendFeatures(const Candidates& candidates, uint32_t i) {
    if (sparse_) {
      absl::StrAppend(out_, ",", candidates.num_features());
      char separator = ',';
      ForEachFeature(candidates, i, [&](uint32_t column, float value) {
        if (value == 0) return;
        out_->push_back(separator);
        AppendNumber(column, out_);
        out_->push_back(':');
        AppendNumber(value, out_);
        separator = ' ';
      });
      if (separator == ',') out_->push_back(',');
      return;
    }
    if (!candidates.sparse()) {
      out_->push_back(',');
      AppendFloats(DenseRow(candidates, i), out_);
      return;
    }
    uint32_t next = 0;
    const auto fill_to = [&](uint32_t column) {
      for (; next < column; ++next) out_->append(",0");
    };
    ForEachFeature(candidates, i, [&](uint32_t column, float value) {
      fill_to(column);
      out_->push_back(',');
      AppendNumber(value, out_);
      ++next;
    });
    fill_to(candidates.num_features());
  }

  const config::v1::LogExportOptions& options_;
  const bool by_decision_;
  std::string* const out_;
  bool has_header_ = false;
  NamedCells cells_;           // Empty: there are features.
  uint32_t num_features_ = 0;  // Of the first tuple.
  bool sparse_ = false;
  UndeclaredColumns columns_;
  // Of the decision.
  std::string head_;
  std::string tail_;
  uint32_t shown_ranks_ = 0;
  uint32_t seen_ranks_ = 0;
};

}  // namespace

std::unique_ptr<Exporter> MakeCsvExporter(
    const config::v1::LogExportOptions& options, std::string* out) {
  return std::make_unique<CsvExporter>(options, out);
}

}  // namespace sortition
