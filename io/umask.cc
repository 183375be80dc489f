#include "io/umask.h"

#include <charconv>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"
#include "io/files.h"

namespace sortition {

mode_t ProcessUmask() {
  constexpr mode_t kUsual = 022;
  constexpr absl::string_view kKey = "\nUmask:\t";
  const auto status = ReadFile("/proc/self/status");
  if (!status.ok()) return kUsual;
  const size_t at = status->find(kKey.data(), 0, kKey.size());
  if (at == std::string::npos) return kUsual;
  const char* const begin = status->data() + at + kKey.size();
  mode_t mask = 0;
  const auto parsed =
      std::from_chars(begin, status->data() + status->size(), mask, 8);
  return parsed.ec == std::errc() ? mask : kUsual;
}

}  // namespace sortition
