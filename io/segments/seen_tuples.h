#pragma once
// Which tuples of a log are copies of others.
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/hash.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Knows the tuples that were read, by 16 bytes each. A copy has the same place
// in the same spool, and in any case the same decision id.
class SeenTuples {
 public:
  // `segments` are the paths of all that is read. Those of one directory have
  // no copies, so nothing is remembered.
  explicit SeenTuples(const std::vector<std::string>& segments);

  // Returns whether `tuple` comes for the first time.
  bool Insert(const log::v1::BanditTuple& tuple);

 private:
  bool has_several_directories_ = false;
  absl::flat_hash_set<Hash128, Hash128Hasher> seen_;
};

}  // namespace sortition
