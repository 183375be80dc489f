#pragma once
// The worths of all versions of all models, in bounded memory: names come from
// callers (Aggregate), and versions from a trainer that never ends.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sidecar/status/target_weights.h"
#include "sidecar/status/worth_sums.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Not thread-safe. A copy has a few megabytes at most.
class Worths {
 public:
  // The first so many models have worths of their own. Further ones together
  // are model "other", version "other".
  static constexpr size_t kMaxModels = 24;
  // The first so many versions of a model have worths of their own. A further
  // one takes the place of the version whose last tuple is longest ago, if
  // since then kIdle tuples of the model came; what was added to that version
  // then counts as version "other". If all are in use, the further one itself
  // counts as "other".
  static constexpr size_t kMaxVersions = 8;
  static constexpr uint64_t kIdle = 1000;

  // Adds a tuple. Those whose decision was drawn with a seed of the caller are
  // left out: learners do not take them either. `decision` is serialised; one
  // that cannot be parsed is left out.
  void Add(const log::v1::BanditTuple& tuple, absl::string_view decision);

  // Adds a worth for each, by model, newest versions first.
  void Fill(status::v1::Sidecar* sidecar) const;

 private:
  struct Version {
    WorthSums sums;
    uint64_t last = 0;  // Number of the model's tuple that came last to it.
  };
  struct Model {
    uint64_t tuples = 0;
    std::map<uint64_t, Version, std::greater<>> versions;
    std::optional<WorthSums> other;
  };

  // Returns null where the model has no place.
  Model* FindModel(const std::string& name);
  // Returns the sums of a version; null where it has no place.
  static WorthSums* FindSums(uint64_t version, Model* model);
  // Makes place for a version; false: all others are in use.
  static bool MakePlace(Model* model);

  std::map<std::string, Model> models_;
  std::optional<WorthSums> other_;
  // Reused for every tuple.
  std::string kept_;
  log::v1::Decision choice_;
  VersionWeights weights_;
};

}  // namespace sortition
