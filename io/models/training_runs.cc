#include "io/models/training_runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "io/models/regular_file.h"
#include "io/models/started_run.h"
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

// The record of a run that began.
struct StartedRecord {
  std::string path;
  TrainingRun run;
  bool is_under_way = false;  // False: the process is gone.
};

// All records of a model.
struct Records {
  std::map<std::string, TrainingRun> ended;  // The last run by kind.
  std::vector<StartedRecord> started;        // In the order of their start.

  // Returns the last run of the kind that ended; null: none.
  const TrainingRun* RunOf(const std::string& kind) const {
    const auto found = ended.find(kind);
    return found == ended.end() ? nullptr : &found->second;
  }
};

// A record that cannot be read is left out and named in `problem`, unless that
// is null. An error if the folder cannot be read.
absl::StatusOr<Records> ReadRecords(const std::string& dir,
                                    std::string* problem) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  Records records;
  for (const std::string& name : names) {
    const bool is_started = absl::EndsWith(name, kStartedSuffix);
    if (!is_started && !absl::EndsWith(name, kRunSuffix)) continue;
    const std::string path = absl::StrCat(dir, "/", name);
    // Before the content is read: a run that ends in between removes the file.
    const absl::StatusOr<bool> is_under_way =
        is_started ? IsUnderWay(path) : absl::StatusOr<bool>(false);
    auto run = ReadRun(path);
    if (is_started && absl::IsNotFound(run.status())) continue;
    if (run.ok() && is_under_way.ok()) {
      if (is_started) {
        records.started.push_back({path, *std::move(run), *is_under_way});
      } else {
        const std::string kind = run->kind();
        records.ended[kind] = *std::move(run);
      }
    } else if (problem != nullptr) {
      *problem = std::string(
          (run.ok() ? is_under_way.status() : run.status()).message());
    }
  }
  return records;
}

// Returns whether the killed run `started` tells nothing that `ended` does not:
// that run began later, or it is the same one, which was killed right after it
// had recorded its result.
bool IsSuperseded(const TrainingRun& started, const TrainingRun* ended) {
  if (ended == nullptr) return false;
  constexpr double kMicrosOfSecond = 1e6;
  const int64_t start_us = started.running_since_us();
  const int64_t ended_start_us =
      ended->time_us() -
      static_cast<int64_t>(kMicrosOfSecond * ended->seconds());
  return ended_start_us > start_us ||
         (ended->pid() == started.pid() && ended->host() == started.host() &&
          ended->time_us() >= start_us);
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
  ASSIGN_OR_RETURN(const std::string dir, MakeRunsDirectory(store, model));
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

absl::StatusOr<std::string> MakeRunsDirectory(const std::string& store,
                                              const std::string& model) {
  // The store itself must be there: a wrong path makes no directories.
  RETURN_IF_ERROR(MakeRunDirectory(absl::StrCat(store, "/", model)));
  std::string dir = RunsOf(store, model);
  RETURN_IF_ERROR(MakeRunDirectory(dir));
  return dir;
}

absl::Status RemoveEndedRuns(const std::string& store, const std::string& model,
                             const std::string& kind) {
  const AsStoreOwner owner(store);
  const std::string dir = RunsOf(store, model);
  ASSIGN_OR_RETURN(const Records records, ReadRecords(dir, nullptr));
  for (const StartedRecord& started : records.started) {
    if (started.run.kind() != kind || started.is_under_way) continue;
    if (!IsSuperseded(started.run, records.RunOf(kind))) {
      RETURN_IF_ERROR(WriteTrainingRun(store, model, KilledRun(started.run)));
    }
    unlink(started.path.c_str());
  }
  return absl::OkStatus();
}

std::vector<TrainingRun> ReadTrainingRuns(const std::string& store,
                                          const std::string& model,
                                          std::string* problem) {
  const auto records = ReadRecords(RunsOf(store, model), problem);
  if (!records.ok()) {
    if (problem != nullptr && !absl::IsNotFound(records.status())) {
      *problem = std::string(records.status().message());
    }
    return {};
  }
  std::map<std::string, TrainingRun> runs = records->ended;
  for (const StartedRecord& started : records->started) {
    const std::string& kind = started.run.kind();
    if (!started.is_under_way &&
        !IsSuperseded(started.run, records->RunOf(kind))) {
      const int64_t last_success_us = runs[kind].last_success_us();
      runs[kind] = KilledRun(started.run);
      runs[kind].set_last_success_us(last_success_us);
    }
  }
  for (const StartedRecord& started : records->started) {
    if (!started.is_under_way) continue;
    const auto [run, is_first] = runs.emplace(started.run.kind(), started.run);
    if (!is_first) {
      run->second.set_running_since_us(started.run.running_since_us());
    }
  }
  std::vector<TrainingRun> sorted;
  for (auto& [kind, run] : runs) sorted.push_back(std::move(run));
  return sorted;
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
