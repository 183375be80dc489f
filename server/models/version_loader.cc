#include "server/models/version_loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/features/describe_features.h"
#include "io/clocks.h"
#include "io/memory_release.h"
#include "process/log.h"
#include "process/threads.h"

namespace sortition {
namespace {

// Returns a text that changes when a file of the directory is added, removed,
// written or replaced, or when its access rights change.
std::string Fingerprint(const std::string& directory) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return;
    parts.push_back(absl::StrCat(path, ":", info.st_ino, ":", info.st_size, ":",
                                 info.st_ctim.tv_sec, ".",
                                 info.st_ctim.tv_nsec));
  };
  add(directory);
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error)) {
    add(it->path().string());
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, "\n");
}

// True for errors of the machine rather than of the files.
bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

// Returns what an error of ModelStore::Load() says about the version.
LoadFailure FailureOfStore(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
      return LoadFailure::kCorrupt;
    case absl::StatusCode::kInvalidArgument:
      return LoadFailure::kInvalid;
    case absl::StatusCode::kNotFound:
      return LoadFailure::kMissingFile;
    default:
      return LoadFailure::kUnreadable;
  }
}

// ResourceExhausted if a version takes more than `room_bytes`. What it takes is
// about the size of its file, which is stored in `bytes`.
absl::Status CheckRoom(const std::string& path, uint64_t room_bytes,
                       uint64_t* bytes) {
  std::error_code error;
  const uintmax_t size =
      std::filesystem::file_size(absl::StrCat(path, "/model.pb"), error);
  *bytes = error ? 0 : size;
  if (*bytes <= room_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "takes ", *bytes, " bytes, and model_memory_bytes has room for ",
      room_bytes, " beside the versions that serve"));
}

}  // namespace

std::string VersionLoader::PathOf(const std::string& name,
                                  uint64_t version) const {
  return absl::StrCat(store_->root(), "/", name, "/", version);
}

VersionLoader::Rejection VersionLoader::FindRejection(const std::string& name,
                                                      uint64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto rejected = rejected_.find(name);
  if (rejected == rejected_.end()) return {};
  const auto found = rejected->second.find(version);
  return found == rejected->second.end() ? Rejection() : found->second;
}

absl::Status VersionLoader::Check(const std::string& name, uint64_t version,
                                  uint64_t* room_bytes) const {
  const std::string path = PathOf(name, version);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return absl::NotFoundError(absl::StrCat(
        path,
        " is not there; name another version, or publish this one again "
        "(sortition-trainer publish)"));
  }
  const Rejection rejection = FindRejection(name, version);
  if (!rejection.transient && !rejection.fingerprint.empty() &&
      rejection.fingerprint == Fingerprint(path)) {
    return absl::FailedPreconditionError(rejection.reason);
  }
  uint64_t bytes = 0;
  if (const absl::Status status = CheckRoom(path, *room_bytes, &bytes);
      !status.ok()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        LoadFailureName(LoadFailure::kMemory), ": ", status.message()));
  }
  *room_bytes -= bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const ServedModel>> VersionLoader::TryLoad(
    const std::string& name, uint64_t version, const ServedModel& serving,
    uint64_t room_bytes, LoadFailure* failure) const {
  uint64_t bytes = 0;
  if (absl::Status status =
          CheckRoom(PathOf(name, version), room_bytes, &bytes);
      !status.ok()) {
    *failure = LoadFailure::kMemory;
    return status;
  }
  const auto stored = store_->Load(name, version);
  if (!stored.ok()) {
    *failure = FailureOfStore(stored.status());
    return stored.status();
  }
  auto served = MakeServedModel(*stored, serving, NowUs(), failure,
                                CountersOf(name, version));
  const std::string notice = UnicodeNotice(stored->model.features());
  if (served.ok() && !notice.empty()) {
    LogWarning(notice, {{"model", name}, {"version", absl::StrCat(version)}});
  }
  const auto& weights = stored->model.weights();
  ReleasePages(weights.data(), sizeof(double) * weights.size());
  return served;
}

absl::StatusOr<std::shared_ptr<const ServedModel>> VersionLoader::Load(
    const std::string& name, uint64_t version, const ServedModel& serving,
    uint64_t room_bytes) {
  const Rejection rejection = FindRejection(name, version);
  // The fingerprint is taken before the load, so that a change during the load
  // gives another one next time.
  const std::string fingerprint = Fingerprint(PathOf(name, version));
  if (!rejection.fingerprint.empty() && !rejection.transient &&
      rejection.fingerprint == fingerprint) {
    return absl::FailedPreconditionError(rejection.reason);
  }
  const absl::Time start = absl::Now();
  LoadFailure failure = LoadFailure::kUnreadable;
  absl::StatusOr<std::shared_ptr<const ServedModel>> served;
  const auto load = [&] {
    served = TryLoad(name, version, serving, room_bytes, &failure);
  };
  // A large version takes seconds, which requests must not feel.
  if (makes_way_) {
    RunInBackground(load);
  } else {
    load();
  }
  if (!served.ok()) {
    const std::string reason =
        absl::StrCat(LoadFailureName(failure), ": ", served.status().message());
    Reject(name, version, failure,
           {reason, fingerprint, IsTransient(served.status())});
    return absl::Status(served.status().code(), reason);
  }
  {
    const std::lock_guard lock(mutex_);
    rejected_[name].erase(version);
    taken_[name][version] = fingerprint;
  }
  metrics_
      ->Counter("sortition_model_loads_total", "Model versions loaded",
                {{"model", name}})
      ->Increment();
  metrics_
      ->Gauge("sortition_model_load_seconds",
              "Time to read, validate and warm up the version loaded last, "
              "seconds",
              {{"model", name}})
      ->Set(absl::ToDoubleSeconds(absl::Now() - start));
  return served;
}

void VersionLoader::RefuseReused(
    const std::string& name,
    const std::map<uint64_t, std::shared_ptr<const ServedModel>>& loaded) {
  for (const auto& [version, model] : loaded) {
    const std::string fingerprint = Fingerprint(PathOf(name, version));
    if (fingerprint.empty()) continue;  // Removed.
    {
      const std::lock_guard lock(mutex_);
      std::string& taken = taken_[name][version];
      if (taken == fingerprint) continue;
      taken = fingerprint;
    }
    const auto stored = store_->Load(name, version);
    if (!stored.ok() || (stored->checksum == model->checksum &&
                         stored->draw_salt == model->draw_salt)) {
      continue;
    }
    const LoadFailure failure = LoadFailure::kReused;
    Reject(name, version, failure,
           {absl::StrCat(LoadFailureName(failure), ": ", PathOf(name, version),
                         " holds another model than when it was loaded, "
                         "checksum ",
                         stored->checksum, ", was ", model->checksum,
                         ": numbers name one model for ever; publish it under "
                         "a number of its own (sortition-trainer publish)"),
            fingerprint, false});
  }
}

void VersionLoader::Reject(const std::string& name, uint64_t version,
                           LoadFailure failure, Rejection rejection) {
  metrics_
      ->Counter("sortition_model_load_failures_total",
                "Model versions refused, by reason",
                {{"model", name}, {"reason", LoadFailureName(failure)}})
      ->Increment();
  const std::lock_guard lock(mutex_);
  Rejection& known = rejected_[name][version];
  if (known.reason != rejection.reason) {
    LogError(
        "model version refused",
        {{"model", name}, {"version", version}, {"reason", rejection.reason}});
  }
  known = std::move(rejection);
}

void VersionLoader::KeepOnly(const std::string& name,
                             const std::vector<uint64_t>& versions) {
  const auto is_gone = [&](const auto& known) {
    return !std::binary_search(versions.begin(), versions.end(), known.first);
  };
  const std::lock_guard lock(mutex_);
  std::erase_if(rejected_[name], is_gone);
  std::erase_if(taken_[name], is_gone);
}

std::map<uint64_t, std::string> VersionLoader::Refused(
    const std::string& name) const {
  std::map<uint64_t, std::string> reasons;
  const std::lock_guard lock(mutex_);
  const auto rejected = rejected_.find(name);
  if (rejected == rejected_.end()) return reasons;
  for (const auto& [version, rejection] : rejected->second) {
    reasons.emplace(version, rejection.reason);
  }
  return reasons;
}

}  // namespace sortition
