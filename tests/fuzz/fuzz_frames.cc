// Bytes of an HTTP/2 client: the guard of a connection reads any of them, and
// finds the same whether they come at once or divided. The first byte chooses
// how they are divided; the preface is put before the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "server/rpc/connections/frame_guard.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/raw_http2.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxStreams = 100;

// Returns what the guard finds in bytes that come in pieces of `step`.
Abuse ReadInPieces(absl::string_view bytes, size_t step) {
  SharedResets shared;
  FrameGuard guard(kMaxStreams, &shared);
  Abuse abuse = Abuse::kNone;
  while (!bytes.empty()) {
    const absl::string_view piece = bytes.substr(0, step);
    const Abuse next = guard.Read(piece, 1);
    CHECK(abuse == Abuse::kNone || next == abuse);
    abuse = next;
    bytes.remove_prefix(piece.size());
  }
  return abuse;
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(frames) {
  using namespace sortition;  // NOLINT: the function must be outside.
  if (size == 0) return;
  // Repeated, so that short inputs can exceed limits.
  std::string bytes = Preface(65535);
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (int i = 0; i < 64; ++i) bytes += rest;
  const Abuse whole = ReadInPieces(bytes, bytes.size());
  const Abuse divided = ReadInPieces(bytes, 1 + data[0] % 64);
  // Only tiny pieces of a header block are abuse by themselves.
  CHECK(whole == divided || divided == Abuse::kHeaderBlock);
  // Without the preface nothing is followed.
  if (rest.empty() || rest[0] == 'P') return;
  CHECK(ReadInPieces(rest, rest.size()) == Abuse::kNone);
}
