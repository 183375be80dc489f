#include "server/models/model_registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "process/log.h"

namespace sortition {
namespace {

int64_t NowUs() { return absl::ToUnixMicros(absl::Now()); }

// Changes when a file of the directory is added, removed, written or replaced,
// or its access rights change.
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

// Errors of the machine rather than of the files.
bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

std::string LoadStage(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
      return "corrupt";
    case absl::StatusCode::kInvalidArgument:
      return "invalid";
    case absl::StatusCode::kNotFound:
      return "missing_file";
    default:
      return "unreadable";
  }
}

absl::Status MakeStoreDirectory(const std::string& root) {
  std::error_code error;
  if (std::filesystem::is_directory(root, error)) return absl::OkStatus();
  // One level only: a wrong path should fail, not be made.
  if (std::filesystem::create_directory(root, error)) {
    LogWarning("model store was missing and is empty now", {{"path", root}});
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "model_store = \"", root,
      "\": must be a directory, and cannot be made: ", error.message()));
}

}  // namespace

ModelRegistry::ModelRegistry(const config::v1::ServerOptions& options,
                             Metrics* metrics)
    : store_(options.model_store()),
      default_model_(options.default_model()),
      poll_seconds_(options.poll_seconds()),
      metrics_(metrics) {
  Serve(MakeUniformModel(default_model_, NowUs()), 0);
}

ModelRegistry::~ModelRegistry() { Stop(); }

absl::Status ModelRegistry::Start() {
  if (const absl::Status status = ValidateModelName(default_model_);
      !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "default_model = \"", default_model_, "\": ", status.message()));
  }
  RETURN_IF_ERROR(MakeStoreDirectory(store_.root()));
  metrics_->OnScrape([this] { SetMetrics(); });
  Refresh();
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void ModelRegistry::Stop() {
  stop_ = true;
  watch_.Wake();
  if (thread_.joinable()) thread_.join();
}

void ModelRegistry::Run() {
  while (!stop_) {
    watch_.Wait(poll_seconds_);
    if (!stop_) Refresh();
  }
}

void ModelRegistry::Refresh() {
  std::lock_guard refresh_lock(refresh_mutex_);
  // Watched before it is listed, so that nothing falls between.
  watch_.Add(store_.root());
  auto names = store_.ListModels();
  const std::string error =
      names.ok() ? "" : std::string(names.status().message());
  if (error != last_store_error_ && !error.empty()) {
    LogError("cannot list the model store", {{"reason", error}});
  }
  last_store_error_ = error;
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!ValidateModelName(name).ok()) continue;  // "lost+found"
    watch_.Add(absl::StrCat(store_.root(), "/", name));
    RefreshModel(name);
    if (stop_) return;
  }
}

void ModelRegistry::RefreshModel(const std::string& name) {
  const auto versions = store_.ListVersions(name);
  if (!versions.ok()) return;  // Gone again; what serves goes on.
  uint64_t serving = 0;
  bool known = false;
  {
    std::lock_guard lock(mutex_);
    const auto entry = models_.find(name);
    known = entry != models_.end();
    if (known) {
      serving = entry->second.serving->version;
      std::erase_if(entry->second.rejected, [&](const auto& rejected) {
        return !std::binary_search(versions->begin(), versions->end(),
                                   rejected.first);
      });
    }
  }
  if (!known) Serve(MakeUniformModel(name, NowUs()), 0);
  for (auto version = versions->rbegin(); version != versions->rend();
       ++version) {
    if (*version <= serving || TryVersion(name, *version)) return;
  }
}

bool ModelRegistry::TryVersion(const std::string& name, uint64_t version) {
  // Before the load: a change during it gives another fingerprint next time.
  Rejection rejection;
  uint32_t num_features = 0;
  const std::string path = absl::StrCat(store_.root(), "/", name, "/", version);
  {
    std::lock_guard lock(mutex_);
    const Entry& entry = models_.find(name)->second;
    num_features = entry.serving->num_features;
    const auto rejected = entry.rejected.find(version);
    if (rejected != entry.rejected.end()) rejection = rejected->second;
  }
  const std::string fingerprint = Fingerprint(path);
  if (!rejection.fingerprint.empty() && !rejection.transient &&
      rejection.fingerprint == fingerprint) {
    return false;
  }
  const absl::Time start = absl::Now();
  std::string stage;
  const auto stored = store_.Load(name, version);
  auto served =
      stored.ok()
          ? MakeServedModel(*stored, num_features, NowUs(), &stage)
          : absl::StatusOr<std::shared_ptr<const ServedModel>>(stored.status());
  if (served.ok()) {
    Serve(*std::move(served), absl::ToDoubleSeconds(absl::Now() - start));
    return true;
  }
  if (!stored.ok()) stage = LoadStage(stored.status());
  Reject(name, version, stage,
         {absl::StrCat(stage, ": ", served.status().message()), fingerprint,
          IsTransient(served.status())});
  return false;
}

void ModelRegistry::Reject(const std::string& name, uint64_t version,
                           const std::string& stage, Rejection rejection) {
  metrics_
      ->Counter("sortition_model_load_failures_total",
                "Model versions that were refused, by reason",
                {{"model", name}, {"reason", stage}})
      ->Increment();
  std::lock_guard lock(mutex_);
  Rejection& known = models_.find(name)->second.rejected[version];
  if (known.reason != rejection.reason) {
    LogError("model version refused", {{"model", name},
                                       {"version", absl::StrCat(version)},
                                       {"reason", rejection.reason}});
  }
  known = std::move(rejection);
}

void ModelRegistry::Serve(const std::shared_ptr<const ServedModel>& model,
                          double load_seconds) {
  const ServedModel& now = *model;
  std::shared_ptr<const ServedModel> before;  // Freed outside the lock.
  {
    std::lock_guard lock(mutex_);
    Entry& entry = models_[now.name];
    before = std::exchange(entry.serving, model);
    entry.rejected.erase(now.version);
  }
  if (now.version == 0) return;
  metrics_
      ->Counter("sortition_model_loads_total", "Model versions that were taken",
                {{"model", now.name}})
      ->Increment();
  metrics_
      ->Gauge("sortition_model_load_seconds",
              "Read, validate and warm up: the newest version, seconds",
              {{"model", now.name}})
      ->Set(load_seconds);
  LogInfo("model version serves",
          {{"model", now.name},
           {"version", absl::StrCat(now.version)},
           {"before", absl::StrCat(before->version)},
           {"policy", now.policy_name},
           {"checksum", now.checksum},
           {"load_seconds", absl::StrCat(load_seconds)}});
}

absl::StatusOr<std::shared_ptr<const ServedModel>> ModelRegistry::Find(
    absl::string_view name) const {
  const absl::string_view wanted = name.empty() ? default_model_ : name;
  std::vector<std::string> names;
  {
    std::lock_guard lock(mutex_);
    const auto entry = models_.find(wanted);
    if (entry != models_.end()) return entry->second.serving;
    for (const auto& [known, unused] : models_) names.push_back(known);
  }
  std::sort(names.begin(), names.end());
  // Names from outside are cut: they come back in the answer.
  constexpr size_t kShownBytes = 64;
  return absl::NotFoundError(absl::StrCat(
      "context.model = \"", absl::CHexEscape(name.substr(0, kShownBytes)),
      "\": no such model; must be one of ", absl::StrJoin(names, ", "),
      ", or empty for ", default_model_));
}

std::vector<v1::ModelStatus> ModelRegistry::List() const {
  std::vector<v1::ModelStatus> list;
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : models_) {
    v1::ModelStatus& status = list.emplace_back();
    status.set_name(name);
    status.set_version(entry.serving->version);
    status.set_policy(entry.serving->policy_name);
    status.set_num_features(entry.serving->num_features);
    status.set_loaded_time_us(entry.serving->loaded_time_us);
    status.set_checksum(entry.serving->checksum);
    for (const auto& [version, rejection] : entry.rejected) {
      v1::RejectedVersion& rejected = *status.add_rejected();
      rejected.set_version(version);
      rejected.set_reason(rejection.reason);
    }
  }
  std::sort(list.begin(), list.end(),
            [](const v1::ModelStatus& a, const v1::ModelStatus& b) {
              return a.name() < b.name();
            });
  return list;
}

void ModelRegistry::SetMetrics() {
  for (const v1::ModelStatus& status : List()) {
    const MetricLabels model = {{"model", status.name()}};
    metrics_
        ->Gauge("sortition_model_version",
                "Version that serves; 0: uniform policy, none is loaded", model)
        ->Set(static_cast<double>(status.version()));
    metrics_
        ->Gauge("sortition_model_age_seconds",
                "Since the version that serves was loaded, seconds", model)
        ->Set(static_cast<double>(NowUs() - status.loaded_time_us()) * 1e-6);
    metrics_
        ->Gauge("sortition_model_rejected_versions",
                "Versions in the store that were refused", model)
        ->Set(static_cast<double>(status.rejected_size()));
  }
}

}  // namespace sortition
