#pragma once
// Reads the store for the status page, and lets nobody wait for a disk.
#include <chrono>
#include <memory>
#include <vector>

#include "io/models/model_store.h"
#include "server/status/store_figures.h"

namespace sortition {

// Its thread looks at the store. One that hangs, such as a network file system
// whose server is away, holds up that thread alone. Thread-safe.
class StoreReader {
 public:
  explicit StoreReader(ModelStore store);
  // Waits for the thread for a moment. If that hangs, it ends by itself once
  // the store answers.
  ~StoreReader();

  // Returns what is known of the models. Waits for at most `patience` until
  // all are as the store has them now.
  StoredModels Read(std::vector<WantedModel> wanted,
                    std::chrono::milliseconds patience);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;  // The thread holds it, too.
};

}  // namespace sortition
