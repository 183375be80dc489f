#include "server/decisions/decision_id.h"

#include <array>
#include <random>

#include "core/base/bytes.h"
#include "core/base/tagged_uuid.h"

namespace sortition {
namespace {

// Maps numbers of kUuidSerialBits bits to such numbers, one to one, as the
// secret says: a Feistel network, whose rounds are hashes. Nobody outside can
// tell the numbers from random ones.
uint64_t Permute(const Hash128& secret, uint64_t number) {
  constexpr int kHalfBits = kUuidSerialBits / 2;
  constexpr uint64_t kHalfMask = (uint64_t{1} << kHalfBits) - 1;
  uint64_t left = number >> kHalfBits & kHalfMask;
  uint64_t right = number & kHalfMask;
  for (uint64_t round = 0; round < 4; ++round) {
    const std::array<uint64_t, 4> input = {secret.low, secret.high, round,
                                           right};
    const uint64_t mixed = left ^ (HashBytes(BytesOf(input)).low & kHalfMask);
    left = right;
    right = mixed;
  }
  return left << kHalfBits | right;
}

}  // namespace

DecisionIdMaker::DecisionIdMaker(const Hash128& secret,
                                 absl::string_view writer_id)
    : secret_(secret), writer_tag_(WriterTag(writer_id)) {}

Hash128 DecisionIdMaker::RandomSecret() {
  std::random_device device;
  const auto word = [&] {
    return (static_cast<uint64_t>(device()) << 32) | device();
  };
  return {word(), word()};
}

std::string DecisionIdMaker::Make(int64_t time_us) {
  const uint64_t number = counter_.fetch_add(1, std::memory_order_relaxed);
  return MakeTaggedUuid(time_us, Permute(secret_, number), writer_tag_);
}

}  // namespace sortition
