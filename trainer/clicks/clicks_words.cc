#include "trainer/clicks/clicks_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/clicks/click_model.h"
#include "core/clicks/normal_bound.h"

namespace sortition {
namespace {

using config::v1::ClickBias;
using config::v1::ClicksOptions;
using config::v1::ClicksReport;
using Model = ClicksReport::Model;

std::string Quoted(absl::string_view name) {
  return absl::StrCat("'", name, "'");
}

// "'a', 'b' and 'c'"
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t k = 0; k < names.size(); ++k) {
    absl::StrAppend(&text,
                    k == 0                  ? ""
                    : k + 1 == names.size() ? " and "
                                            : ", ",
                    Quoted(names[k]));
  }
  return text;
}

// An argument as a shell takes it.
std::string ShellText(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("_-./,:=@%+", absl::string_view(&c, 1));
  });
  if (is_plain) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string NumbersText(
    const google::protobuf::RepeatedField<double>& numbers) {
  return absl::StrJoin(numbers, ",", [](std::string* out, double number) {
    absl::StrAppendFormat(out, "%.6g", number);
  });
}

// The next best after the best, of those that predict as well if there are any;
// null: there is none.
const Model* NextBest(const ClicksReport& report) {
  const Model* next = nullptr;
  for (const Model& model : report.models()) {
    if (!model.has_difference() || model.is_best()) continue;
    if (next == nullptr ||
        std::pair(model.is_as_good(), model.difference()) >
            std::pair(next->is_as_good(), next->difference())) {
      next = &model;
    }
  }
  return next;
}

// Of the two models whose clicks are independent; null: there is none.
const Model* BiasModel(const ClicksReport& report) {
  const Model* const position =
      FindClickModel(report, ClickModelName(ClickModelKind::kPositionBased));
  const Model* const trust =
      FindClickModel(report, ClickModelName(ClickModelKind::kTrustBias));
  if (position == nullptr || trust == nullptr) {
    return position != nullptr ? position : trust;
  }
  if (!position->has_held_out_log_likelihood() ||
      !trust->has_held_out_log_likelihood()) {
    return trust->has_held_out_log_likelihood() ? trust : position;
  }
  if (position->is_as_good()) return position;
  return trust->held_out_log_likelihood() > position->held_out_log_likelihood()
             ? trust
             : position;
}

// Returns why `ope` cannot use it; empty: it can.
std::string ProblemOf(const Model& model, const ClickBias& bias) {
  for (const ClicksReport::Unidentified& open : model.unidentified()) {
    if (open.parameter() == "offset") continue;  // Of rank 0: it is given.
    return open.sentence();
  }
  for (int r = 0; r < bias.examination_size(); ++r) {
    if (bias.examination(r) > 0) continue;
    return absl::StrCat("Examination of rank ", r, " is ",
                        RoundedText(bias.examination(r)),
                        ", must be above 0: fewer ranks may help "
                        "(max_ranks).");
  }
  return "";
}

std::string OpeCommand(const ClicksOptions& options, const ClickBias& bias) {
  std::string text = absl::StrCat("sortition-trainer ope --tuples=",
                                  ShellText(options.tuples()));
  if (!options.model_store().empty()) {
    absl::StrAppend(&text, " --model_store=", ShellText(options.model_store()));
  }
  if (options.has_model()) {
    absl::StrAppend(&text, " --model=", ShellText(options.model()));
  }
  if (options.ranks() != "seen") {
    absl::StrAppend(&text, " --ranks=", options.ranks());
  }
  return absl::StrCat(text, " --examination=", NumbersText(bias.examination()),
                      " --click_offsets=", NumbersText(bias.click_offsets()));
}

}  // namespace

double NoiseBound(double confidence, int comparisons) {
  return NormalBound(1 - (1 - confidence) / comparisons);
}

const Model* FindClickModel(const ClicksReport& report,
                            absl::string_view name) {
  for (const Model& model : report.models()) {
    if (model.name() == name) return &model;
  }
  return nullptr;
}

std::string RoundedText(double number) {
  return absl::StrFormat("%.4g", number);
}

std::string ClicksVerdict(const ClicksReport& report) {
  if (!report.has_best()) {
    return "No model can explain the held-out sessions: each of them holds "
           "some of their clicks for impossible.";
  }
  const Model* const next = NextBest(report);
  const std::string best = Quoted(report.best());
  if (next == nullptr) {
    return absl::StrCat(
        report.models_size() == 1 ? "Only " : "Of all models, only ", best,
        report.models_size() == 1
            ? " was fitted: there is nothing to compare it with."
            : " can explain all held-out sessions.");
  }
  std::vector<std::string> as_good;
  for (const Model& model : report.models()) {
    if (model.is_as_good()) as_good.push_back(model.name());
  }
  const std::string numbers =
      absl::StrFormat("%.4g nats per session (standard error %.2g)",
                      -next->difference(), next->standard_error());
  if (as_good.size() == 1) {
    return absl::StrCat(best, " predicts held-out clicks best, and that is ",
                        "more than noise: by ", numbers, " better than ",
                        Quoted(next->name()), ", the next best.");
  }
  return absl::StrCat(Listed(as_good),
                      " predict held-out clicks equally well, as far as ",
                      report.held_out_sessions(), " sessions can tell: ", best,
                      " is better than ", Quoted(next->name()), " by ", numbers,
                      ", which is not more than noise. ",
                      Quoted(report.simplest()), " is the simplest of them.");
}

void FillClickBias(const ClicksOptions& options, ClicksReport* report) {
  const Model* const model = BiasModel(*report);
  if (model == nullptr) {
    report->set_bias_problem(
        "Neither position_based nor trust_bias was fitted.");
    return;
  }
  const bool is_trust =
      model->name() == ClickModelName(ClickModelKind::kTrustBias);
  ClickBias bias;
  bias.set_model(options.model());
  bias.set_click_model(model->name());
  bias.set_ranks(options.ranks());
  bias.set_sessions(report->training_sessions());
  for (const ClicksReport::Parameter& parameter : model->parameters()) {
    if (parameter.name() == (is_trust ? "slope" : "examination")) {
      bias.add_examination(parameter.value());
      if (!is_trust) bias.add_click_offsets(0);
    } else if (is_trust && parameter.name() == "offset") {
      bias.add_click_offsets(parameter.value());
    }
  }
  if (const std::string problem = ProblemOf(*model, bias); !problem.empty()) {
    report->set_bias_problem(problem);
    return;
  }
  report->set_ope_command(OpeCommand(options, bias));
  *report->mutable_bias() = std::move(bias);
}

}  // namespace sortition
