#include "server/models/model_registry.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "io/clocks.h"
#include "io/memory_release.h"
#include "process/log.h"

namespace sortition {
namespace {

using google::protobuf::util::MessageDifferencer;

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

// Returns what serves before the first version is loaded.
std::shared_ptr<const ServingSet> MakeUniformSet(const std::string& name,
                                                 const VersionLoader& loader) {
  auto set = std::make_shared<ServingSet>();
  set->name = name;
  set->primary = MakeUniformModel(name, NowUs(), loader.CountersOf(name, 0));
  set->shape = set->primary.get();
  set->loaded.emplace(0, set->primary);
  return set;
}

// Returns what a state says, for the log.
std::string StateText(model::v1::Serving serving) {
  serving.clear_change();
  serving.clear_time();
  serving.clear_reason();
  serving.clear_caller();
  if (serving.has_split()) serving.mutable_split()->clear_salt();
  if (serving.has_interleave()) serving.mutable_interleave()->clear_salt();
  return serving.ShortDebugString();
}

bool IsSame(const ServingSet& a, const ServingSet& b) {
  return a.primary == b.primary && a.loaded == b.loaded &&
         MessageDifferencer::Equals(a.serving, b.serving);
}

}  // namespace

ModelRegistry::ModelRegistry(const config::v1::ServerOptions& options,
                             Metrics* metrics)
    : store_(options.model_store()),
      default_model_(options.default_model()),
      memory_bytes_(options.model_memory_bytes()),
      poll_seconds_(options.poll_seconds()),
      metrics_(metrics),
      list_failures_(metrics->Counter(
          "sortition_model_list_failures_total",
          "Times that the model store, or the directory of a model in it, "
          "could not be listed")),
      drift_gauges_(metrics),
      loader_(&store_, metrics) {
  Serve(MakeUniformSet(default_model_, loader_));
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
  loader_.MakeWay();
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void ModelRegistry::Stop() {
  stop_ = true;
  watch_.Wake();
  if (thread_.joinable()) thread_.join();
  // What serves may be held for longer than the metrics.
  loader_.DetachCounters();
}

void ModelRegistry::Run() {
  while (!stop_) {
    watch_.Wait(poll_seconds_);
    if (!stop_) Refresh();
  }
}

void ModelRegistry::Refresh() {
  std::lock_guard refresh_lock(refresh_mutex_);
  FreeRetired();
  const absl::Cleanup freeing = [this] { FreeRetired(); };
  // Watch before listing, so that no change is missed in between.
  watch_.Add(store_.root());
  auto listing = ListStore(store_.root());
  const std::string error =
      listing.ok() ? "" : std::string(listing.status().message());
  if (error != last_store_error_ && !error.empty()) {
    LogError("cannot list the model store", {{"reason", error}});
  }
  last_store_error_ = error;
  if (!listing.ok()) {
    list_failures_->Increment();
    return;
  }
  NoteIgnored("", listing->ignored);
  for (const std::string& name : listing->models) {
    watch_.Add(absl::StrCat(store_.root(), "/", name));
    RefreshModel(name);
    if (stop_) return;
  }
}

bool ModelRegistry::HasDefault() const {
  const auto model = Find("");
  return model.ok() && (*model)->primary->version > 0;
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

void ModelRegistry::NoteIgnored(const std::string& model,
                                const std::vector<IgnoredEntry>& ignored) {
  std::vector<IgnoredEntry> before;
  {
    const std::lock_guard lock(mutex_);
    auto& known = model.empty() ? not_models_ : models_[model].not_versions;
    before = std::exchange(known, ignored);
  }
  for (const IgnoredEntry& entry : ignored) {
    const bool is_known =
        std::any_of(before.begin(), before.end(),
                    [&](const auto& b) { return b.name == entry.name; });
    if (is_known) continue;
    const std::string path = absl::StrCat(store_.root(), "/", model,
                                          model.empty() ? "" : "/", entry.name);
    LogWarning(model.empty() ? "entry of the model store is not a model"
                             : "entry of a model's folder is not a version",
               {{"path", path}, {"reason", entry.reason}});
  }
}

ModelRegistry::Entry ModelRegistry::FindEntry(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = models_.find(name);
  return entry == models_.end() ? Entry() : entry->second;
}

void ModelRegistry::RefreshModel(const std::string& name) {
  auto listing = ListModelFolder(absl::StrCat(store_.root(), "/", name));
  if (absl::IsNotFound(listing.status())) listing = VersionListing();
  if (!listing.ok()) {
    NoteListFailure(name, listing.status());
    return;
  }
  const std::vector<uint64_t>& versions = listing->versions;
  loader_.KeepOnly(name, versions);
  if (FindEntry(name).set == nullptr) {
    Serve(MakeUniformSet(name, loader_));
  }
  NoteIgnored(name, listing->ignored);
  const std::shared_ptr<const ServingSet> before = FindEntry(name).set;
  loader_.RefuseReused(name, before->loaded);
  const auto serving = ReadServing(absl::StrCat(store_.root(), "/", name));
  absl::StatusOr<std::shared_ptr<const ServingSet>> set =
      serving.ok() ? MakeSet(*serving, *before, versions) : serving.status();
  NoteServing(name, set.status());
  if (!set.ok()) set = MakeFallback(*before, versions);
  if (set.ok() && !IsSame(**set, *before)) Serve(*std::move(set));
  fresh_.clear();
}

void ModelRegistry::NoteServing(const std::string& name,
                                const absl::Status& status) {
  const std::string error(status.message());
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(models_[name].serving_error, error) == error) return;
  }
  if (error.empty()) {
    LogInfo("SERVING.textproto is in force again", {{"model", name}});
    return;
  }
  metrics_
      ->Counter("sortition_model_serving_errors_total",
                "Times that SERVING.textproto of a model could not be taken up",
                {{"model", name}})
      ->Increment();
  LogError("SERVING.textproto cannot be taken up: what serves continues",
           {{"model", name}, {"reason", error}});
}

absl::StatusOr<model::v1::Serving> ModelRegistry::Change(
    const std::string& name, const ChangeCause& cause, Edit edit) {
  const std::lock_guard refresh_lock(refresh_mutex_);
  FreeRetired();
  const std::shared_ptr<const ServingSet> before = FindEntry(name).set;
  if (before == nullptr) {
    return absl::NotFoundError(absl::StrCat("\"", name, "\": no such model"));
  }
  ASSIGN_OR_RETURN(const auto versions, store_.ListVersions(name));
  const uint64_t room_bytes = RoomFor(name);
  const EditContext context = {
      before->primary->version, versions, [&](uint64_t version) {
        return Load(*before, version, *before->shape, room_bytes).ok();
      }};
  std::shared_ptr<const ServingSet> set;
  auto changed = ChangeServing(
      absl::StrCat(store_.root(), "/", name), cause,
      [&](model::v1::Serving* serving) -> absl::Status {
        RETURN_IF_ERROR(edit(context, serving));
        RETURN_IF_ERROR(ValidateServing(*serving));
        ASSIGN_OR_RETURN(set, MakeSet(*serving, *before, versions));
        return absl::OkStatus();
      });
  if (changed.ok()) {
    auto in_force = std::make_shared<ServingSet>(*set);
    in_force->serving = *changed;  // With its number and its salt.
    NoteServing(name, absl::OkStatus());
    Serve(std::move(in_force));
  }
  fresh_.clear();
  return changed;
}

void ModelRegistry::Serve(std::shared_ptr<const ServingSet> set) {
  const ServedModel& now = *set->primary;
  std::shared_ptr<const ServingSet> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(models_[set->name].set, set);
    auto serving = std::make_shared<ServingModels>();
    for (const auto& [name, entry] : models_) serving->emplace(name, entry.set);
    serving_ = std::move(serving);
    static std::atomic<uint64_t> last_generation{0};
    generation_.store(++last_generation, std::memory_order_release);
  }
  if (before == nullptr) return;  // Uniform, until there is a version.
  for (const auto& [version, model] : before->loaded) {
    const auto kept = set->loaded.find(version);
    if (kept == set->loaded.end() || kept->second != model) {
      retired_.push_back(model);
      retired_bytes_ += model->bytes;
    }
  }
  if (before->primary->version != now.version) {
    LogInfo("model version serves", {{"model", now.name},
                                     {"version", now.version},
                                     {"before", before->primary->version},
                                     {"policy", now.policy_name},
                                     {"checksum", now.checksum}});
  }
  if (!MessageDifferencer::Equals(before->serving, set->serving)) {
    LogInfo("what serves was changed", {{"model", now.name},
                                        {"change", set->serving.change()},
                                        {"reason", set->serving.reason()},
                                        {"caller", set->serving.caller()},
                                        {"version", now.version},
                                        {"state", StateText(set->serving)}});
  }
  if (follow_) follow_();
}

void ModelRegistry::FreeRetired() {
  std::erase_if(retired_, [this](const ServingSet::Model& model) {
    if (model.use_count() > 1) return false;
    retired_bytes_ -= model->bytes;
    for (const auto* policy : {&model->select, &model->rank, &model->label}) {
      if (!policy->has_value() || !(*policy)->owns_weights()) continue;
      const std::span<const double> weights = (*policy)->weights();
      ReleasePages(weights.data(), weights.size_bytes());
    }
    return true;
  });
}

absl::StatusOr<std::shared_ptr<const ServingSet>> ModelRegistry::Find(
    absl::string_view name) const {
  SeenModels seen;
  return Find(name, &seen);
}

absl::StatusOr<std::shared_ptr<const ServingSet>> ModelRegistry::Find(
    absl::string_view name, SeenModels* seen) const {
  std::shared_ptr<const ServingModels> serving;
  if (seen->generation == generation_.load(std::memory_order_acquire)) {
    serving = seen->serving.lock();  // Null: just swapped.
  }
  if (serving == nullptr) {
    std::lock_guard lock(mutex_);
    seen->generation = generation_.load(std::memory_order_relaxed);
    serving = serving_;
    seen->serving = serving;
  }
  const ServingModels& models = *serving;
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
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : models_) {
      if (entry.set == nullptr) continue;
      list.push_back({entry.set, {}, entry.serving_error, entry.not_versions});
    }
  }
  for (ModelState& state : list) {
    state.rejected = loader_.Refused(state.set->name);
  }
  std::sort(list.begin(), list.end(),
            [](const ModelState& a, const ModelState& b) {
              return a.set->name < b.set->name;
            });
  return list;
}

std::vector<IgnoredEntry> ModelRegistry::ListNotModels() const {
  const std::lock_guard lock(mutex_);
  return not_models_;
}

namespace {

// Appends what the versions of a model have to show.
void AddDrift(const ServingSet& set, std::vector<VersionDrift>* drifts) {
  constexpr size_t kMostShown = 10;
  for (const auto& [version, model] : set.loaded) {
    if (model->drift == nullptr) continue;
    drifts->push_back(
        {set.name, version, model->drift->TopMovers(kMostShown, NowUs())});
  }
}

}  // namespace

void ModelRegistry::SetMetrics() {
  const auto set = [this](const char* name, const char* help,
                          const std::string& model, double value) {
    metrics_->Gauge(name, help, {{"model", model}})->Set(value);
  };
  metrics_
      ->Gauge("sortition_model_retired_bytes",
              "Memory of versions that serve no more, but whose last requests "
              "have not ended, bytes")
      ->Set(static_cast<double>(retired_bytes_.load()));
  std::vector<VersionDrift> drifts;
  for (const ModelState& state : List()) {
    const ServedModel& serving = *state.set->primary;
    set("sortition_model_version",
        "Version that serves; 0: uniform policy, no version is loaded",
        serving.name, static_cast<double>(serving.version));
    set("sortition_model_age_seconds",
        "Time since the version that serves was loaded, seconds", serving.name,
        static_cast<double>(NowUs() - serving.loaded_time_us) * 1e-6);
    set("sortition_model_rejected_versions",
        "Versions in the store that are refused", serving.name,
        static_cast<double>(state.rejected.size()));
    set("sortition_model_loaded_bytes",
        "Memory of the parameters of all versions that are loaded, bytes",
        serving.name, static_cast<double>(state.set->bytes()));
    set("sortition_model_serving_change",
        "Number of the change of SERVING.textproto that is in force",
        serving.name, static_cast<double>(state.set->serving.change()));
    set("sortition_model_serving_error",
        "1: SERVING.textproto in the store cannot be taken up; 0: it is in "
        "force",
        serving.name, state.serving_error.empty() ? 0 : 1);
    AddDrift(*state.set, &drifts);
  }
  drift_gauges_.Set(drifts);
}

}  // namespace sortition
