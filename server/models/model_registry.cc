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
#include "io/clocks.h"
#include "process/log.h"

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

absl::Status MakeStoreDirectory(const std::string& root) {
  std::error_code error;
  if (std::filesystem::is_directory(root, error)) return absl::OkStatus();
  // One level only: a wrong path must fail rather than be created.
  if (std::filesystem::create_directory(root, error)) {
    LogWarning("model store was missing; created an empty one",
               {{"path", root}});
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "model_store = \"", root,
      "\": must be a directory, and cannot be created: ", error.message()));
}

}  // namespace

ModelRegistry::ModelRegistry(const config::v1::ServerOptions& options,
                             Metrics* metrics)
    : store_(options.model_store()),
      default_model_(options.default_model()),
      poll_seconds_(options.poll_seconds()),
      metrics_(metrics),
      list_failures_(metrics->Counter(
          "sortition_model_list_failures_total",
          "Times that the model store, or the directory of a model in it, "
          "could not be listed")) {
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
  // Watch before listing, so that no change is missed in between.
  watch_.Add(store_.root());
  auto names = store_.ListModels();
  const std::string error =
      names.ok() ? "" : std::string(names.status().message());
  if (error != last_store_error_ && !error.empty()) {
    LogError("cannot list the model store", {{"reason", error}});
  }
  last_store_error_ = error;
  if (!names.ok()) {
    list_failures_->Increment();
    return;
  }
  for (const std::string& name : *names) {
    if (!ValidateModelName(name).ok()) continue;  // "lost+found"
    watch_.Add(absl::StrCat(store_.root(), "/", name));
    RefreshModel(name);
    if (stop_) return;
  }
}

bool ModelRegistry::HasDefault() const {
  const auto model = Find("");
  return model.ok() && (*model)->version > 0;
}

void ModelRegistry::NoteListFailure(const std::string& name,
                                    const absl::Status& status) {
  list_failures_->Increment();
  const uint64_t count =
      list_reports_[name].Count(FailureReports::Clock::now());
  if (count == 0) return;
  LogError("cannot list the versions of a model: what serves continues",
           {{"model", name},
            {"reason", std::string(status.message())},
            {"count", count}});
}

void ModelRegistry::RefreshModel(const std::string& name) {
  const auto versions = store_.ListVersions(name);
  if (!versions.ok()) {
    NoteListFailure(name, versions.status());
    return;
  }
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
  // The fingerprint is taken before the load, so that a change during the load
  // gives another one next time.
  Rejection rejection;
  std::shared_ptr<const ServedModel> serving;
  const std::string path = absl::StrCat(store_.root(), "/", name, "/", version);
  {
    std::lock_guard lock(mutex_);
    const Entry& entry = models_.find(name)->second;
    serving = entry.serving;
    const auto rejected = entry.rejected.find(version);
    if (rejected != entry.rejected.end()) rejection = rejected->second;
  }
  const std::string fingerprint = Fingerprint(path);
  if (!rejection.fingerprint.empty() && !rejection.transient &&
      rejection.fingerprint == fingerprint) {
    return false;
  }
  const absl::Time start = absl::Now();
  LoadFailure failure = LoadFailure::kUnreadable;
  const auto stored = store_.Load(name, version);
  auto served =
      stored.ok()
          ? MakeServedModel(*stored, *serving, NowUs(), &failure)
          : absl::StatusOr<std::shared_ptr<const ServedModel>>(stored.status());
  if (served.ok()) {
    Serve(*std::move(served), absl::ToDoubleSeconds(absl::Now() - start));
    return true;
  }
  if (!stored.ok()) failure = FailureOfStore(stored.status());
  Reject(
      name, version, failure,
      {absl::StrCat(LoadFailureName(failure), ": ", served.status().message()),
       fingerprint, IsTransient(served.status())});
  return false;
}

void ModelRegistry::Reject(const std::string& name, uint64_t version,
                           LoadFailure failure, Rejection rejection) {
  metrics_
      ->Counter("sortition_model_load_failures_total",
                "Model versions refused, by reason",
                {{"model", name}, {"reason", LoadFailureName(failure)}})
      ->Increment();
  std::lock_guard lock(mutex_);
  Rejection& known = models_.find(name)->second.rejected[version];
  if (known.reason != rejection.reason) {
    LogError(
        "model version refused",
        {{"model", name}, {"version", version}, {"reason", rejection.reason}});
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
    auto serving = std::make_shared<ServingModels>();
    for (const auto& [name, known] : models_) {
      serving->emplace(name, known.serving);
    }
    serving_ = std::move(serving);
    static std::atomic<uint64_t> last_generation{0};
    generation_.store(++last_generation, std::memory_order_release);
  }
  if (now.version == 0) return;
  metrics_
      ->Counter("sortition_model_loads_total",
                "Model versions that began to serve", {{"model", now.name}})
      ->Increment();
  metrics_
      ->Gauge("sortition_model_load_seconds",
              "Time to read, validate and warm up the newest version, seconds",
              {{"model", now.name}})
      ->Set(load_seconds);
  LogInfo("model version serves", {{"model", now.name},
                                   {"version", now.version},
                                   {"before", before->version},
                                   {"policy", now.policy_name},
                                   {"checksum", now.checksum},
                                   {"load_seconds", load_seconds}});
  if (follow_) follow_();
}

absl::StatusOr<std::shared_ptr<const ServedModel>> ModelRegistry::Find(
    absl::string_view name) const {
  SeenModels seen;
  return Find(name, &seen);
}

absl::StatusOr<std::shared_ptr<const ServedModel>> ModelRegistry::Find(
    absl::string_view name, SeenModels* seen) const {
  if (seen->generation != generation_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    seen->generation = generation_.load(std::memory_order_relaxed);
    seen->serving = serving_;
  }
  const ServingModels& models = *seen->serving;
  const auto found = models.find(name.empty() ? default_model_ : name);
  if (found != models.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, unused] : models) names.push_back(known);
  std::sort(names.begin(), names.end());
  // A name from outside is cut, because the answer repeats it.
  constexpr size_t kShownBytes = 64;
  return absl::NotFoundError(absl::StrCat(
      "\"", absl::CHexEscape(name.substr(0, kShownBytes)),
      "\": no such model; must be one of ", absl::StrJoin(names, ", "),
      ", or empty for ", default_model_));
}

std::vector<ModelState> ModelRegistry::List() const {
  std::vector<ModelState> list;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : models_) {
      ModelState& state = list.emplace_back();
      state.serving = entry.serving;
      for (const auto& [version, rejection] : entry.rejected) {
        state.rejected.emplace(version, rejection.reason);
      }
    }
  }
  std::sort(list.begin(), list.end(),
            [](const ModelState& a, const ModelState& b) {
              return a.serving->name < b.serving->name;
            });
  return list;
}

void ModelRegistry::SetMetrics() {
  for (const ModelState& state : List()) {
    const ServedModel& serving = *state.serving;
    const MetricLabels model = {{"model", serving.name}};
    metrics_
        ->Gauge("sortition_model_version",
                "Version that serves; 0: uniform policy, no version is loaded",
                model)
        ->Set(static_cast<double>(serving.version));
    metrics_
        ->Gauge("sortition_model_age_seconds",
                "Time since the version that serves was loaded, seconds", model)
        ->Set(static_cast<double>(NowUs() - serving.loaded_time_us) * 1e-6);
    metrics_
        ->Gauge("sortition_model_rejected_versions",
                "Versions in the store that are refused", model)
        ->Set(static_cast<double>(state.rejected.size()));
  }
}

}  // namespace sortition
