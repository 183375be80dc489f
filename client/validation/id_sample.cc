#include "client/validation/id_sample.h"

namespace sortition {
namespace {

// A table holds 16 bytes and a byte of control per slot, and doubles at 7/8.
constexpr size_t kBytesPerId = 39;

}  // namespace

IdSample::IdSample(size_t memory_bytes) : most_(memory_bytes / kBytesPerId) {}

bool IdSample::Insert(absl::string_view id) {
  const Hash128 hash = HashBytes(id);
  if (UnitInterval(hash) >= share_) return false;
  if (!ids_.insert(hash).second) return true;
  while (ids_.size() > most_) {
    share_ /= 2;
    absl::erase_if(ids_, [this](const Hash128& kept) {
      return UnitInterval(kept) >= share_;
    });
  }
  return false;
}

}  // namespace sortition
