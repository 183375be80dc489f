#include "server/decisions/decision_id.h"

#include <array>
#include <cstring>
#include <random>

#include "absl/strings/string_view.h"
#include "core/base/bytes.h"

namespace sortition {

Hash128 DecisionIdMaker::RandomSecret() {
  std::random_device device;
  const auto word = [&] {
    return (static_cast<uint64_t>(device()) << 32) | device();
  };
  return {word(), word()};
}

std::string DecisionIdMaker::Make(int64_t time_us) {
  // The hash of (secret, counter) serves as random bits: no two calls share an
  // input, and nobody outside knows the secret.
  const std::array<uint64_t, 3> input = {
      secret_.low, secret_.high,
      counter_.fetch_add(1, std::memory_order_relaxed)};
  const Hash128 random = HashBytes(BytesOf(input));
  const uint64_t milliseconds = static_cast<uint64_t>(time_us / 1000);
  // unix_ts_ms (48 bits), version 7, rand_a (12); variant 0b10, rand_b (62).
  const std::array<uint64_t, 2> bits = {
      (milliseconds << 16) | 0x7000 | (random.high & 0xFFF),
      (uint64_t{2} << 62) | (random.low >> 2)};
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr absl::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  std::string id(kShape.data(), kShape.size());
  size_t digit = 0;
  for (char& c : id) {
    if (c == '-') continue;
    const uint64_t word = bits[digit / 16];
    c = kDigits[(word >> (60 - 4 * (digit % 16))) & 0xF];
    ++digit;
  }
  return id;
}

}  // namespace sortition
