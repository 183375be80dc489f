#include "server/status/server_status.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "io/clocks.h"
#include "process/status/history.h"
#include "process/status/shared_text.h"
#include "process/status/sidecar_series.h"
#include "process/status/status_text.h"
#include "server/status/metric_window.h"
#include "server/status/model_figures.h"
#include "server/status/sidecar_figures.h"
#include "server/status/store_reader.h"
#include "server/status/traffic_figures.h"
#include "server/status/training_figures.h"

namespace sortition {
namespace {

constexpr std::chrono::seconds kAge(1);  // Of a text.
constexpr int64_t kAskUs = 2'000'000;    // Between two questions.
// Longest time that a text waits for the store.
constexpr std::chrono::milliseconds kStorePatience(100);

void SetSpool(const ServerStatusParts& parts, status::v1::Server* server) {
  if (parts.spool == nullptr) return;
  const SpoolStats stats = parts.spool->stats();
  status::v1::Spool& spool = *server->mutable_spool();
  spool.set_dir(Utf8Text(parts.spool_dir));
  spool.set_state(std::string(SpoolStateName(stats.state)));
  spool.set_bytes(stats.spool_bytes);
  spool.set_max_bytes(stats.max_bytes);
  spool.set_disk_free_bytes(stats.free_bytes);
  spool.set_records(stats.records);
  spool.set_lost_records(stats.lost);
  spool.set_refused(stats.refused);
}

}  // namespace

struct ServerStatusSource::Rep {
  explicit Rep(ServerStatusParts status_parts)
      : parts(std::move(status_parts)),
        sidecar(parts.sidecar),
        store(parts.registry->store()),
        training(parts.metrics) {}

  const ServerStatusParts parts;
  SidecarFigures sidecar;
  StoreReader store;
  TrainingMetrics training;  // Used only by the thread that takes samples.

  // Of who takes samples and who makes texts.
  std::mutex figures_mutex;
  MetricWindow window;  // Guarded by `figures_mutex`, as is the next.
  History history;

  std::mutex stop_mutex;  // Held for moments.
  std::condition_variable wake;
  bool must_stop = false;  // Guarded by `stop_mutex`.

  // Last: their threads use the others.
  std::thread thread;
  SharedText text{kAge, [this] { return MakeText(); }};
  SharedText history_text{kAge, [this] { return MakeHistory(); }};

  void Run();
  void TakeSample();
  void SetTraining();
  std::string MakeText();
  std::string MakeHistory();
  void SetServer(status::v1::Server* server);
  void SetModels(const MetricSamples& now, status::v1::Server* server);
};

void ServerStatusSource::Rep::Run() {
  int64_t next_sample_us = SteadyUs();
  int64_t next_ask_us = next_sample_us;
  std::unique_lock lock(stop_mutex);
  while (!must_stop) {
    lock.unlock();
    if (SteadyUs() >= next_sample_us) {
      TakeSample();
      SetTraining();
      next_sample_us = SteadyUs() + History::kIntervalUs;
    }
    if (SteadyUs() >= next_ask_us) {
      sidecar.Ask(SteadyUs);
      next_ask_us = SteadyUs() + kAskUs;
    }
    const int64_t wait_us = std::min(next_sample_us, next_ask_us) - SteadyUs();
    lock.lock();
    wake.wait_for(lock, std::chrono::microseconds(wait_us),
                  [this] { return must_stop; });
  }
}

// Does not wait for the store: what it finds is there at the next sample.
void ServerStatusSource::Rep::SetTraining() {
  v1::ListModelsResponse list;
  if (!parts.models->ListModels({}, &list).ok()) return;
  std::vector<WantedModel> wanted;
  for (const v1::ModelStatus* const model : ShownModels(list, {})) {
    wanted.push_back(WantedOf(*model));
  }
  training.Set(store.Read(std::move(wanted), std::chrono::milliseconds(0)));
}

void ServerStatusSource::Rep::TakeSample() {
  const MetricSamples now = parts.metrics->Read();
  const int64_t steady_us = SteadyUs();
  const int64_t now_us = NowUs();
  status::v1::Status asked;
  sidecar.Fill(steady_us, &asked);
  HistorySample sample;
  if (parts.spool != nullptr) {
    sample[{"spool_bytes", {}, "bytes"}] = {
        .value = static_cast<double>(parts.spool->stats().spool_bytes)};
  }
  if (asked.has_sidecar()) AddSidecarSeries(asked.sidecar(), now_us, &sample);
  const std::lock_guard lock(figures_mutex);
  // The first sample has nothing that rates could be told from.
  if (!window.is_empty()) {
    AddTrafficSeries(now, window.Last(steady_us), &sample);
  }
  window.Add(steady_us, now);
  history.Add(steady_us, now_us, sample);
}

void ServerStatusSource::Rep::SetServer(status::v1::Server* server) {
  const std::string why_not =
      parts.why_not_ready ? parts.why_not_ready() : std::string();
  server->set_ready(why_not.empty());
  server->set_why_not_ready(Utf8Text(why_not));
  server->set_needs_token(parts.needs_token);
  server->set_has_control(parts.has_control);
  if (parts.shadows != nullptr) {
    server->set_shadow_queue_bytes(
        static_cast<int64_t>(parts.shadows->waiting_bytes()));
  }
  SetSpool(parts, server);
  const MetricSamples now = parts.metrics->Read();
  SetModels(now, server);
  const std::lock_guard lock(figures_mutex);
  SetCalls(now, window.Minute(SteadyUs()), server);
}

void ServerStatusSource::Rep::SetModels(const MetricSamples& now,
                                        status::v1::Server* server) {
  v1::ListModelsResponse list;
  if (!parts.models->ListModels({}, &list).ok()) return;
  const SamplesByModel samples = GroupByModel(now);
  const auto shown = ShownModels(list, samples);
  server->set_further_models(static_cast<uint64_t>(list.models_size()) -
                             shown.size());
  std::vector<WantedModel> wanted;
  for (const v1::ModelStatus* const model : shown) {
    wanted.push_back(WantedOf(*model));
  }
  const StoredModels stored = store.Read(std::move(wanted), kStorePatience);
  const std::lock_guard lock(figures_mutex);
  const MetricWindow::Before minute = window.Minute(SteadyUs());
  for (const v1::ModelStatus* const model : shown) {
    status::v1::Model& figures = *server->add_models();
    const auto read = stored.find(model->name());
    SetModel(*model, read == stored.end() ? nullptr : read->second.get(),
             &figures);
    const auto found = samples.find(model->name());
    if (found == samples.end()) continue;
    AddTraffic(now, minute, found->second, &figures);
    AddDrift(found->second, &figures);
  }
}

std::string ServerStatusSource::Rep::MakeHistory() {
  const History copy = [this] {
    const std::lock_guard lock(figures_mutex);
    return history;
  }();
  return copy.is_empty() ? std::string() : copy.Json();
}

std::string ServerStatusSource::Rep::MakeText() {
  status::v1::Status status;
  SetProcess("server", NowUs(), &status);
  SetServer(status.mutable_server());
  AddRunWarnings(&status);
  sidecar.Fill(SteadyUs(), &status);
  return StatusJson(status);
}

ServerStatusSource::ServerStatusSource(std::unique_ptr<Rep> rep)
    : rep_(std::move(rep)) {}

ServerStatusSource::~ServerStatusSource() { Stop(); }

std::unique_ptr<ServerStatusSource> ServerStatusSource::Create(
    ServerStatusParts parts) {
  auto rep = std::make_unique<Rep>(std::move(parts));
  rep->thread = std::thread(&Rep::Run, rep.get());
  return std::unique_ptr<ServerStatusSource>(
      new ServerStatusSource(std::move(rep)));
}

void ServerStatusSource::Stop() {
  {
    const std::lock_guard lock(rep_->stop_mutex);
    rep_->must_stop = true;
  }
  rep_->wake.notify_all();
  if (rep_->thread.joinable()) rep_->thread.join();
  rep_->text.Stop();
  rep_->history_text.Stop();
}

std::string ServerStatusSource::Json(absl::string_view query) {
  std::string text = rep_->text.Get();
  if (text.empty()) text = JsonBeforeTheFirst("server", NowUs());
  if (!WantsHistory(query)) return text;
  return WithHistory(std::move(text), rep_->history_text.Get());
}

}  // namespace sortition
