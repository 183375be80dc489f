#include "io/models/training_runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "io/models/regular_file.h"
#include "io/models/store_owner.h"
#include "io/models/text_message.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

using model::v1::EarlierRuns;
using model::v1::TrainingRun;

constexpr uint64_t kMaxRunBytes = 1 << 20;
// Bytes of a text that are kept.
constexpr size_t kMaxRunText = 4000;
constexpr char kRunSuffix[] = ".textproto";
constexpr char kEarlierSuffix[] = ".earlier";

std::string RunsOf(const std::string& store, const std::string& model) {
  return absl::StrCat(store, "/", model, "/.runs");
}

absl::StatusOr<TrainingRun> ReadRun(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kMaxRunBytes));
  TrainingRun run;
  RETURN_IF_ERROR(ParseTextMessage(path, "the record of a run", text, &run));
  return run;
}

absl::StatusOr<EarlierRuns> ReadEarlier(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kMaxRunBytes));
  EarlierRuns earlier;
  RETURN_IF_ERROR(
      ParseTextMessage(path, "the record of earlier runs", text, &earlier));
  return earlier;
}

// Puts `run` before the earlier runs, and drops the oldest beyond the limit.
absl::Status AddEarlier(const std::string& path, const TrainingRun& run) {
  EarlierRuns earlier;
  *earlier.add_runs() = run;
  // A damaged file begins anew.
  if (const auto before = ReadEarlier(path); before.ok()) {
    earlier.MergeFrom(*before);
  }
  while (earlier.runs_size() > kMaxEarlierRuns) {
    earlier.mutable_runs()->RemoveLast();
  }
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(earlier, &text)) {
    return absl::InternalError("the record of runs cannot be printed");
  }
  return WriteFile(path, text);
}

absl::Status MakeRunDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return PosixStatus(errno, path, "cannot create");
}

void ShortenRunText(std::string* text) {
  if (text->size() <= kMaxRunText) return;
  text->resize(kMaxRunText);
  absl::StrAppend(text, " ...");
}

}  // namespace

bool IsSuccess(const TrainingRun& run) {
  return run.outcome() == TrainingRun::DONE ||
         run.outcome() == TrainingRun::NOTHING_BETTER;
}

absl::Status WriteTrainingRun(const std::string& store,
                              const std::string& model, TrainingRun run) {
  const AsStoreOwner owner(store);
  const std::string dir = RunsOf(store, model);
  // The store itself must be there: a wrong path makes no directories.
  RETURN_IF_ERROR(MakeRunDirectory(absl::StrCat(store, "/", model)));
  RETURN_IF_ERROR(MakeRunDirectory(dir));
  const std::string path = absl::StrCat(dir, "/", run.kind(), kRunSuffix);
  const auto before = ReadRun(path);
  if (before.ok()) {
    run.set_last_success_us(before->last_success_us());
    RETURN_IF_ERROR(AddEarlier(
        absl::StrCat(dir, "/", run.kind(), kEarlierSuffix), *before));
  }
  if (IsSuccess(run)) run.set_last_success_us(run.time_us());
  ShortenRunText(run.mutable_verdict());
  ShortenRunText(run.mutable_next_step());
  ShortenRunText(run.mutable_read());
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(run, &text)) {
    return absl::InternalError("the record of a run cannot be printed");
  }
  return WriteFile(path, text);
}

std::vector<TrainingRun> ReadTrainingRuns(const std::string& store,
                                          const std::string& model,
                                          std::string* problem) {
  std::vector<TrainingRun> runs;
  const std::string dir = RunsOf(store, model);
  const auto names = ListDirectory(dir);
  if (!names.ok()) {
    if (problem != nullptr && !absl::IsNotFound(names.status())) {
      *problem = std::string(names.status().message());
    }
    return runs;
  }
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, kRunSuffix)) continue;
    auto run = ReadRun(absl::StrCat(dir, "/", name));
    if (run.ok()) {
      runs.push_back(*std::move(run));
    } else if (problem != nullptr) {
      *problem = std::string(run.status().message());
    }
  }
  return runs;
}

std::vector<TrainingRun> ReadEarlierRuns(const std::string& store,
                                         const std::string& model) {
  std::vector<TrainingRun> runs;
  const std::string dir = RunsOf(store, model);
  for (const std::string& name :
       ListDirectory(dir).value_or(std::vector<std::string>())) {
    if (!absl::EndsWith(name, kEarlierSuffix)) continue;
    auto earlier = ReadEarlier(absl::StrCat(dir, "/", name));
    if (!earlier.ok()) continue;
    runs.insert(runs.end(),
                std::make_move_iterator(earlier->mutable_runs()->begin()),
                std::make_move_iterator(earlier->mutable_runs()->end()));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a.time_us() > b.time_us();
  });
  return runs;
}

}  // namespace sortition
