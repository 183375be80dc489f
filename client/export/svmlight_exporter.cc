// SVMlight text: "reward qid:1 1:0.5 # …", features from 1, zeros left out.
#include "absl/strings/str_cat.h"
#include "client/export/exporter.h"
#include "client/export/text_values.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

class SvmlightExporter : public Exporter {
 public:
  SvmlightExporter(const config::v1::LogExportOptions& options,
                   std::string* out)
      : only_chosen_(options.rows() == "decision"),
        with_censored_(options.with_censored()),
        out_(out) {}

  absl::string_view Add(const log::v1::BanditTuple& tuple) override {
    const auto add = [this](const TupleView& view) -> absl::string_view {
      if (only_chosen_ &&
          (view.is_abstained() || view.decision.action().empty())) {
        return "nothing was chosen, so there is no line";
      }
      ++qid_;
      MakeComment(view);
      for (uint32_t i = 0; i < view.chosen.size(); ++i) {
        if (only_chosen_ ? view.chosen[i] == 0 : !view.query.is_eligible(i)) {
          continue;
        }
        AppendLine(view, i);
      }
      return {};
    };
    return WithView(tuple, nullptr, add);
  }

 private:
  // What the comments of all lines of a decision say.
  void MakeComment(const TupleView& view) {
    comment_ = " weight=";
    AppendNumber(1 / view.propensity(), &comment_);
    comment_.append(" reward=");
    AppendNumber(view.tuple.reward(), &comment_);
    comment_.append(" has_feedback=");
    comment_.push_back(view.tuple.has_feedback() ? '1' : '0');
    if (ShownDiffers(view.tuple)) comment_.append(" action_shown=0");
    if (view.decision.can_abstain()) comment_.append(" can_abstain=1");
    const double keep = view.tuple.keep_probability();
    if (keep != 0 && keep != 1) {
      comment_.append(" keep_probability=");
      AppendNumber(keep, &comment_);
    }
    if (with_censored_ && view.tuple.censored_size() > 0) {
      comment_.append(" censored=1");
    }
    comment_.append(" id=");
    // A comment has no line breaks.
    AppendJsonString(view.decision.decision_id(), &comment_);
    comment_.push_back('\n');
  }

  void AppendLine(const TupleView& view, uint32_t i) {
    AppendNumber(view.chosen[i] != 0 ? view.tuple.reward() : 0, out_);
    absl::StrAppend(out_, " qid:", qid_);
    ForEachFeature(view.query.candidates, i, [&](uint32_t column, float value) {
      if (value == 0) return;
      out_->push_back(' ');
      AppendNumber(column + uint64_t{1}, out_);
      out_->push_back(':');
      AppendNumber(value, out_);
    });
    absl::StrAppend(out_, " # chosen=", view.chosen[i], comment_);
  }

  const bool only_chosen_;
  const bool with_censored_;
  std::string* const out_;
  uint64_t qid_ = 0;
  std::string comment_;
};

}  // namespace

std::unique_ptr<Exporter> MakeSvmlightExporter(
    const config::v1::LogExportOptions& options, std::string* out) {
  return std::make_unique<SvmlightExporter>(options, out);
}

}  // namespace sortition
