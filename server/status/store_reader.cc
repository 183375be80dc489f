#include "server/status/store_reader.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "io/clocks.h"

namespace sortition {
namespace {

constexpr std::chrono::milliseconds kLongestEnd(200);

}  // namespace

struct StoreReader::Shared {
  explicit Shared(ModelStore store) : figures(std::move(store)) {}

  StoreFigures figures;  // Of the thread alone.

  std::mutex mutex;  // Never held while the store is read.
  std::condition_variable asked;
  std::condition_variable done;
  // All guarded by `mutex`.
  bool must_stop = false;
  bool has_ended = false;
  uint64_t num_asked = 0;
  uint64_t num_done = 0;  // The question that was answered last.
  std::vector<WantedModel> wanted;
  StoredModels found;

  void Run();
  // Reads all of them; requires `lock`, and gives it back meanwhile.
  void ReadAll(const std::vector<WantedModel>& models,
               std::unique_lock<std::mutex>* lock);
};

void StoreReader::Shared::ReadAll(const std::vector<WantedModel>& models,
                                  std::unique_lock<std::mutex>* lock) {
  StoredModels all;
  for (const WantedModel& model : models) {
    lock->unlock();
    auto read = figures.Read(model, SteadyUs());
    lock->lock();
    if (must_stop) return;
    found[model.name] = read;
    all[model.name] = std::move(read);
  }
  found = std::move(all);
  figures.KeepOnly(models);
}

void StoreReader::Shared::Run() {
  std::unique_lock lock(mutex);
  while (!must_stop) {
    asked.wait(lock, [this] { return must_stop || num_asked != num_done; });
    if (must_stop) break;
    const uint64_t number = num_asked;
    ReadAll(std::vector<WantedModel>(wanted), &lock);
    num_done = number;
    done.notify_all();
  }
  has_ended = true;
  done.notify_all();
}

StoreReader::StoreReader(ModelStore store)
    : shared_(std::make_shared<Shared>(std::move(store))) {
  std::thread([shared = shared_] { shared->Run(); }).detach();
}

StoreReader::~StoreReader() {
  std::unique_lock lock(shared_->mutex);
  shared_->must_stop = true;
  shared_->asked.notify_all();
  shared_->done.wait_for(lock, kLongestEnd,
                         [this] { return shared_->has_ended; });
}

StoredModels StoreReader::Read(std::vector<WantedModel> wanted,
                               std::chrono::milliseconds patience) {
  std::unique_lock lock(shared_->mutex);
  shared_->wanted = std::move(wanted);
  const uint64_t number = ++shared_->num_asked;
  shared_->asked.notify_all();
  shared_->done.wait_for(lock, patience,
                         [&] { return shared_->num_done >= number; });
  return shared_->found;
}

}  // namespace sortition
