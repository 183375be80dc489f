#include "process/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sortition::internal {
namespace {

std::string ReadProc(const char* path) {
  // Not ReadFile(): files of /proc have no size.
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

double Number(absl::string_view text) {
  double value = 0;
  return absl::SimpleAtod(text, &value) ? value : 0;
}

double BootTimeSeconds() {
  const std::string stat = ReadProc("/proc/stat");
  for (absl::string_view line : absl::StrSplit(stat, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == "btime") return Number(words[1]);
  }
  return 0;
}

double CountOpenDescriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  double count = 0;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(directory);
  return count - 1;  // The directory itself.
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  const std::string stat = ReadProc("/proc/self/stat");
  // The second field, in parentheses, may hold spaces; count from its end. See
  // proc(5) for the numbers.
  const size_t end = stat.rfind(')');
  if (end != std::string::npos) {
    const std::vector<absl::string_view> words = absl::StrSplit(
        absl::string_view(stat).substr(end + 1), ' ', absl::SkipEmpty());
    constexpr size_t kFirst = 3;  // words[0] is field 3.
    const auto field = [&](size_t number) {
      return number - kFirst < words.size() ? Number(words[number - kFirst])
                                            : 0.0;
    };
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    stats.cpu_seconds = (field(14) + field(15)) / ticks;
    stats.threads = field(20);
    stats.start_time_seconds = BootTimeSeconds() + field(22) / ticks;
    stats.virtual_bytes = field(23);
    stats.resident_bytes =
        field(24) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  stats.open_descriptors = CountOpenDescriptors();
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    stats.max_descriptors = static_cast<double>(limit.rlim_cur);
  }
  return stats;
}

}  // namespace sortition::internal
