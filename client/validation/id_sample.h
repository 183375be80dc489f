#pragma once
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"

namespace sortition {

// Finds ids that come twice. Holds a 128-bit hash of each; beyond the limit of
// memory it halves the share of the ids that it looks at, by their hash.
class IdSample {
 public:
  explicit IdSample(size_t memory_bytes);

  // Returns whether the id came before; false for an id outside the share.
  bool Insert(absl::string_view id);
  double share() const { return share_; }

 private:
  const size_t most_;
  double share_ = 1;
  absl::flat_hash_set<Hash128, Hash128Hasher> ids_;
};

}  // namespace sortition
