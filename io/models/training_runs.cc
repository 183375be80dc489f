#include "io/models/training_runs.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

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

using model::v1::TrainingRun;

constexpr uint64_t kMaxRunBytes = 1 << 20;
// Bytes of a text that are kept.
constexpr size_t kMaxRunText = 4000;
constexpr char kRunSuffix[] = ".textproto";

std::string RunsOf(const std::string& store, const std::string& model) {
  return absl::StrCat(store, "/", model, "/.runs");
}

absl::StatusOr<TrainingRun> ReadRun(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kMaxRunBytes));
  TrainingRun run;
  RETURN_IF_ERROR(ParseTextMessage(path, "the record of a run", text, &run));
  return run;
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
  if (IsSuccess(run)) {
    run.set_last_success_us(run.time_us());
  } else if (const auto before = ReadRun(path); before.ok()) {
    run.set_last_success_us(before->last_success_us());
  }
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

}  // namespace sortition
