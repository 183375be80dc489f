#include "trainer/clicks/clicks.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "trainer/clicks/click_data.h"
#include "trainer/clicks/click_log.h"
#include "trainer/clicks/clicks_words.h"
#include "trainer/clicks/logged_propensities.h"
#include "trainer/clicks/model_fits.h"

namespace sortition {
namespace {

using config::v1::ClicksOptions;
using config::v1::ClicksReport;

bool Contains(const std::vector<ClickModelKind>& kinds, ClickModelKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

absl::Status CheckOptions(const ClicksOptions& options,
                          const std::vector<ClickModelKind>& kinds) {
  if (options.draws() > 0 && options.draws() < 20) {
    return absl::InvalidArgumentError(absl::StrCat(
        "draws is ", options.draws(), ", must be 0 or at least 20"));
  }
  if (!options.write().empty() &&
      !Contains(kinds, ClickModelKind::kPositionBased) &&
      !Contains(kinds, ClickModelKind::kTrustBias)) {
    return absl::InvalidArgumentError(
        "write is set, so models must have position_based or trust_bias: "
        "others have no examination by rank alone");
  }
  return absl::OkStatus();
}

// Counts sessions, impressions and clicks.
void FillSessions(const ClickData& data, ClicksReport* report) {
  std::vector<uint64_t> shown;
  std::vector<uint64_t> clicked;
  for (const ClickSessions* const part : {&data.train, &data.held_out}) {
    for (size_t s = 0; s < part->size(); ++s) {
      const ClickSession session = (*part)[s];
      if (shown.size() < session.size()) {
        shown.resize(session.size(), 0);
        clicked.resize(session.size(), 0);
      }
      uint64_t clicks = 0;
      for (size_t r = 0; r < session.size(); ++r) {
        ++shown[r];
        clicked[r] += session.clicked(r) ? 1 : 0;
        clicks += session.clicked(r) ? 1 : 0;
      }
      report->set_clicks(report->clicks() + clicks);
      report->set_impressions(report->impressions() + session.size());
      report->set_sessions_with_clicks(report->sessions_with_clicks() +
                                       (clicks > 0 ? 1 : 0));
      report->set_sessions_with_more_clicks(
          report->sessions_with_more_clicks() + (clicks > 1 ? 1 : 0));
    }
  }
  for (size_t r = 0; r < shown.size(); ++r) {
    report->add_click_rates(static_cast<double>(clicked[r]) /
                            static_cast<double>(shown[r]));
  }
}

void FillCounts(const ClicksOptions& options, const ClickData& data,
                ClicksReport* report) {
  report->set_model(options.model());
  report->set_read_tuples(data.counts.read_tuples);
  report->set_corrupt_records(data.counts.damage.corrupt_records);
  for (const auto& [reason, count] : data.counts.excluded) {
    (*report->mutable_excluded())[reason] = count;
  }
  report->set_sessions(data.counts.sessions);
  report->set_training_sessions(data.train.size());
  report->set_held_out_sessions(data.held_out.size());
  report->set_held_out_units(data.num_held_out_units);
  report->set_items(data.items.size());
  FillSessions(data, report);
}

void FillNotes(const ClicksOptions& options, const ClickData& data,
               ClicksReport* report) {
  const auto note = [&](const std::string& text) { report->add_notes(text); };
  if (report->moved_items() == 0) {
    note(
        "No item was shown at two ranks: position and attraction cannot be "
        "told apart. Let a policy explore, or take coarser items (items = "
        "features or regression).");
  }
  if (data.counts.with_unranked_feedback > 0) {
    note(absl::StrCat(data.counts.with_unranked_feedback,
                      " sessions have feedback that names no rank: it counts "
                      "for no click."));
  }
  if (data.counts.clicked_below_seen > 0) {
    note(absl::StrCat(data.counts.clicked_below_seen,
                      " sessions were clicked below the ranks that are "
                      "reported as seen: those down to the click count as "
                      "seen."));
  }
  if (data.counts.cut > 0) {
    note(absl::StrCat(data.counts.cut, " sessions have more ranks than ",
                      options.max_ranks(),
                      ", and are cut (max_ranks): "
                      "for ope, nobody looks at deeper ranks."));
  }
  if (data.units_repeat) {
    note(
        "Some units have several sessions. Differences between models take "
        "the sessions of a unit together; intervals of parameters count them "
        "as independent.");
  }
}

// What the sentences about the use of the result need.
void FillUse(const ClicksOptions& options, ClicksReport* report) {
  FillClickBias(options, report);
  if (!report->has_bias() || !report->has_best()) return;
  const ClicksReport::Model* const used =
      FindClickModel(*report, report->bias().click_model());
  if (used != nullptr && used->is_as_good()) return;
  report->add_notes(absl::StrCat(
      "'", report->best(), "' predicts better than '",
      report->bias().click_model(),
      "': whether a rank is examined depends on more than the rank, and values "
      "that are corrected by rank alone are only near the truth."));
}

absl::Status FillInterventions(const ClicksOptions& options,
                               const ClickData& data, ClickLog* log,
                               ClicksReport* report) {
  if (options.propensity_sessions() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      LoggedPropensities propensities,
      LoggedPropensities::Create(options, data.items, data.counts.sessions));
  ClickCounts again;
  RETURN_IF_ERROR(log->Scan(
      [&](const ClickedRanking& ranking) { return propensities.Take(ranking); },
      &again));
  propensities.Fill(report);
  if (report->interventions().empty()) {
    report->add_notes(
        "Nothing is said of examination without a model: of no decision are "
        "the probabilities of its orders known.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateClicksOptions(const ClicksOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<ClickModelKind> kinds,
                   ParseClickModels(options));
  return CheckOptions(options, kinds);
}

absl::StatusOr<ClicksReport> LearnClicks(const ClicksOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<ClickModelKind> kinds,
                   ParseClickModels(options));
  RETURN_IF_ERROR(CheckOptions(options, kinds));
  ASSIGN_OR_RETURN(const std::unique_ptr<ClickLog> log,
                   ClickLog::Open(options));
  if (log->items() == ClickItems::kRegression && log->num_features() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "items is regression, but no ranking of model '", options.model(),
        "' has features: columns need model_store, with a version that makes "
        "features of them"));
  }
  ASSIGN_OR_RETURN(const ClickData data, ReadClickData(options, log.get()));
  ClicksReport report;
  FillCounts(options, data, &report);
  RETURN_IF_ERROR(FitClickModels(options, kinds, data, &report));
  FillNotes(options, data, &report);
  RETURN_IF_ERROR(FillInterventions(options, data, log.get(), &report));
  FillUse(options, &report);
  return report;
}

absl::Status WriteClickBias(const ClicksOptions& options,
                            const ClicksReport& report) {
  if (options.write().empty()) return absl::OkStatus();
  if (!report.has_bias()) {
    return absl::FailedPreconditionError(absl::StrCat("nothing was written to ",
                                                      options.write(), ": ",
                                                      report.bias_problem()));
  }
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(report.bias(), &text)) {
    return absl::InternalError("examination cannot be written as text");
  }
  return WriteFile(options.write(), text);
}

}  // namespace sortition
