#include "server/status/store_figures.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "io/models/look_ledger.h"
#include "io/models/serving_state.h"
#include "io/models/training_runs.h"
#include "process/status/status_text.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {
namespace {

class NoErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber,
                const std::string&) override {}
};

void SetEstimate(const model::v1::Estimate& from, status::v1::Estimate* to) {
  to->set_value(from.value());
  to->set_lower(from.lower());
  to->set_upper(from.upper());
  to->set_confidence(from.confidence());
}

void SetEvaluation(const model::v1::Evaluation& evaluation,
                   status::v1::Version* version) {
  version->set_is_evaluated(true);
  version->set_verdict(ShownText(evaluation.verdict()));
  version->set_promoted(evaluation.promoted());
  if (evaluation.has_improvement()) {
    SetEstimate(evaluation.improvement(), version->mutable_improvement());
  }
  version->set_effective_sample_size(evaluation.effective_sample_size());
  version->set_test_tuples(evaluation.test_tuples());
  version->set_look(evaluation.look());
  for (const model::v1::Finding& finding : evaluation.findings()) {
    if (version->findings_size() >= StoreFigures::kMostFindings) break;
    version->add_findings(ShownText(finding.sentence()));
  }
}

// Returns how training read rewards, as options of `ope`.
std::string RewardOptions(const std::string& train_options) {
  // Other learners have other options, and a later release may have more.
  google::protobuf::TextFormat::Parser parser;
  NoErrors none;
  parser.RecordErrorsTo(&none);
  parser.AllowUnknownField(true);
  config::v1::TrainOptions options;
  std::string text;
  if (!parser.ParseFromString(train_options, &options)) return text;
  if (options.has_reward_min()) {
    absl::StrAppend(&text, " --reward_min=", options.reward_min());
  }
  if (options.has_reward_max()) {
    absl::StrAppend(&text, " --reward_max=", options.reward_max());
  }
  if (options.clamp_rewards()) absl::StrAppend(&text, " --clamp_rewards");
  return text.empty() ? text : text.substr(1);
}

// Returns the versions to show. `all` descend.
std::set<uint64_t, std::greater<>> ShownVersions(
    const WantedModel& model, const std::vector<uint64_t>& all) {
  const auto count = [](size_t most, auto begin, auto end) {
    return std::min(static_cast<ptrdiff_t>(most), end - begin);
  };
  std::set<uint64_t, std::greater<>> shown(
      all.begin(),
      all.begin() + count(StoreFigures::kMostVersions, all.begin(), all.end()));
  // 0 is the uniform policy, which is in no store.
  for (const uint64_t version : model.loaded) {
    if (version != 0) shown.insert(version);
  }
  for (const uint64_t version : model.decides) {
    const auto below =
        std::upper_bound(all.begin(), all.end(), version, std::greater<>());
    shown.insert(below,
                 below + count(StoreFigures::kMostBelow, below, all.end()));
  }
  return shown;
}

}  // namespace

status::v1::Version StoreFigures::ReadVersion(const std::string& model,
                                              uint64_t version,
                                              Known* known) const {
  const auto found = known->read.find(version);
  if (found != known->read.end()) return found->second;
  status::v1::Version figures;
  figures.set_version(version);
  const auto provenance = store_.LoadProvenance(model, version);
  if (!provenance.ok()) {
    figures.set_error(ShownText(provenance.status().message()));
    return figures;
  }
  figures.set_learner(ShownText(provenance->learner()));
  figures.set_created_time_us(provenance->created_time_us());
  figures.set_parent_version(provenance->parent_version());
  figures.set_comment(ShownText(provenance->comment()));
  figures.set_reward_options(RewardOptions(provenance->options()));
  const auto evaluation = store_.LoadEvaluation(model, version);
  if (evaluation.ok()) SetEvaluation(*evaluation, &figures);
  if (evaluation.ok() || absl::IsNotFound(evaluation.status())) {
    known->read.emplace(version, figures);
  }
  return figures;
}

void StoreFigures::CountLooks(const WantedModel& model, Known* known) const {
  const LookLedger ledger(store_.root(), model.name);
  struct stat file = {};
  FileStamp stamp;
  if (::stat(ledger.path().c_str(), &file) == 0) {
    stamp = {file.st_size,
             file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec};
  }
  if (stamp == known->ledger && model.version == known->ledger_version) return;
  const auto next = ledger.NextNumber(model.version);
  if (!next.ok()) return;
  known->looks = *next - 1;
  known->ledger = stamp;
  known->ledger_version = model.version;
}

StoredFigures StoreFigures::Look(const WantedModel& model, Known* known) const {
  StoredFigures figures;
  if (const auto versions = store_.ListVersions(model.name); versions.ok()) {
    known->versions.assign(versions->rbegin(), versions->rend());
  }
  const auto shown = ShownVersions(model, known->versions);
  std::erase_if(known->read, [&shown](const auto& version) {
    return !shown.contains(version.first);
  });
  for (const uint64_t version : shown) {
    figures.versions.push_back(ReadVersion(model.name, version, known));
  }
  for (const uint64_t version : known->versions) {
    if (!shown.contains(version)) ++figures.further_versions;
  }
  const std::string dir = absl::StrCat(store_.root(), "/", model.name);
  if (auto history = ServingHistory(dir, kMostChanges); history.ok()) {
    figures.history.assign(std::make_move_iterator(history->rbegin()),
                           std::make_move_iterator(history->rend()));
  } else if (known->figures != nullptr) {
    figures.history = known->figures->history;
  }
  CountLooks(model, known);
  figures.looks = known->looks;
  figures.runs = ReadTrainingRuns(store_.root(), model.name, nullptr);
  figures.earlier_runs = ReadEarlierRuns(store_.root(), model.name);
  return figures;
}

std::shared_ptr<const StoredFigures> StoreFigures::Read(
    const WantedModel& model, int64_t steady_us) {
  Known& known = known_[model.name];
  if (known.figures != nullptr && known.wanted == model &&
      steady_us - known.look_us < kLookUs) {
    return known.figures;
  }
  known.figures = std::make_shared<const StoredFigures>(Look(model, &known));
  known.look_us = steady_us;
  known.wanted = model;
  return known.figures;
}

void StoreFigures::KeepOnly(const std::vector<WantedModel>& models) {
  std::set<std::string> names;
  for (const WantedModel& model : models) names.insert(model.name);
  std::erase_if(known_, [&names](const auto& model) {
    return !names.contains(model.first);
  });
}

}  // namespace sortition
