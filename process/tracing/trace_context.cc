#include "process/tracing/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>

namespace sortition {
namespace {

// Returns the value of a lower-case hexadecimal digit, or -1. The standard
// allows no upper case.
int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

// Fills `bytes` from 2 digits each. Returns false if one is no digit.
bool ParseHex(absl::string_view digits, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexValue(digits[2 * i]);
    const int low = HexValue(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(16 * high + low);
  }
  return true;
}

template <size_t n>
bool IsZero(const std::array<uint8_t, n>& id) {
  return id == std::array<uint8_t, n>{};
}

// SplitMix64 [Steele, Lea and Flood 2014]. Each thread has a state of its own,
// seeded by the system.
uint64_t RandomBits() {
  thread_local uint64_t state = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

template <size_t n>
std::array<uint8_t, n> NewId() {
  static_assert(n % sizeof(uint64_t) == 0);
  std::array<uint8_t, n> id{};
  while (IsZero(id)) {
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
      const uint64_t bits = RandomBits();
      std::memcpy(&id[i], &bits, sizeof(bits));
    }
  }
  return id;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view header) {
  // version "-" trace-id "-" parent-id "-" trace-flags, as in
  // 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
  constexpr size_t kTraceIdAt = 3;
  constexpr size_t kSpanIdAt = 36;
  constexpr size_t kFlagsAt = 53;
  constexpr size_t kBytes = 55;
  constexpr uint8_t kNoVersion = 0xff;
  if (header.size() < kBytes || header[kTraceIdAt - 1] != '-' ||
      header[kSpanIdAt - 1] != '-' || header[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  TraceContext context;
  std::array<uint8_t, 1> version{};
  std::array<uint8_t, 1> flags{};
  if (!ParseHex(header, version) ||
      !ParseHex(header.substr(kTraceIdAt), context.trace_id) ||
      !ParseHex(header.substr(kSpanIdAt), context.span_id) ||
      !ParseHex(header.substr(kFlagsAt), flags)) {
    return std::nullopt;
  }
  // A later version may have more fields behind these.
  const bool has_end =
      header.size() == kBytes || (version[0] > 0 && header[kBytes] == '-');
  if (version[0] == kNoVersion || !has_end || IsZero(context.trace_id) ||
      IsZero(context.span_id)) {
    return std::nullopt;
  }
  context.is_sampled = (flags[0] & 1) != 0;
  return context;
}

std::string PackTraceContext(const TraceContext& context) {
  std::string bytes(context.trace_id.begin(), context.trace_id.end());
  bytes.append(context.span_id.begin(), context.span_id.end());
  return bytes;
}

std::optional<TraceContext> UnpackTraceContext(absl::string_view bytes) {
  TraceContext context{.is_sampled = true};
  if (bytes.size() != context.trace_id.size() + context.span_id.size()) {
    return std::nullopt;
  }
  const char* const span_id = bytes.data() + context.trace_id.size();
  std::copy(bytes.data(), span_id, context.trace_id.begin());
  std::copy(span_id, bytes.data() + bytes.size(), context.span_id.begin());
  if (IsZero(context.trace_id) || IsZero(context.span_id)) return std::nullopt;
  return context;
}

TraceId NewTraceId() { return NewId<16>(); }

SpanId NewSpanId() { return NewId<8>(); }

double RandomShare() {
  return static_cast<double>(RandomBits() >> 11) * 0x1p-53;
}

}  // namespace sortition
