#include "io/models/look_ledger.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numbers>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "io/files.h"
#include "io/models/store_owner.h"
#include "io/posix_status.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

constexpr char kName[] = "looks.jsonl";

absl::Status AppendLine(int fd, const std::string& path, model::v1::Look look,
                        absl::string_view before) {
  look.set_time(absl::FormatTime(absl::Now(), absl::UTCTimeZone()));
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(look, &line);
  if (!status.ok()) return absl::InternalError(status.ToString());
  line = absl::StrCat(before, line, "\n");
  if (write(fd, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    return PosixStatus(errno, path, "cannot append to");
  }
  return fsync(fd) == 0 ? absl::OkStatus()
                        : PosixStatus(errno, path, "cannot sync");
}

uint64_t NumLooks(absl::string_view contents, uint64_t baseline_version) {
  uint64_t looks = 0;
  for (const absl::string_view line : absl::StrSplit(contents, '\n')) {
    if (line.empty()) continue;
    model::v1::Look look;
    const auto status =
        google::protobuf::util::JsonStringToMessage(std::string(line), &look);
    if (!status.ok()) {
      ++looks;
    } else if (look.baseline_version() == baseline_version) {
      looks = std::max<uint64_t>(looks, look.number());
    }
  }
  return looks;
}

}  // namespace

LookLedger::LookLedger(const std::string& store, const std::string& model)
    : path_(absl::StrCat(store, "/", model, "/", kName)) {}

absl::StatusOr<uint64_t> LookLedger::Begin(uint64_t baseline_version,
                                           uint64_t test_tuples) {
  const AsStoreOwner owner(path_);
  std::error_code error;
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path(), error);
  if (error) return PosixStatus(error.value(), path_, "cannot create");
  const int fd =
      open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path_, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_EX) != 0) return PosixStatus(errno, path_, "cannot lock");
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(path_));
  model::v1::Look look;
  look.set_baseline_version(baseline_version);
  look.set_test_tuples(test_tuples);
  look.set_number(NumLooks(contents, baseline_version) + 1);
  // A line that somebody could not end stays one of its own.
  const bool is_torn = !contents.empty() && contents.back() != '\n';
  RETURN_IF_ERROR(AppendLine(fd, path_, look, is_torn ? "\n" : ""));
  if (contents.empty()) {
    const std::filesystem::path dir =
        std::filesystem::path(path_).parent_path();
    RETURN_IF_ERROR(SyncDirectory(dir.string()));
    RETURN_IF_ERROR(SyncDirectory(dir.parent_path().string()));
  }
  return look.number();
}

absl::StatusOr<std::optional<model::v1::Look>> LookLedger::Last(
    uint64_t baseline_version) const {
  std::optional<model::v1::Look> last;
  const absl::StatusOr<std::string> contents = ReadFile(path_);
  if (absl::IsNotFound(contents.status())) return last;
  RETURN_IF_ERROR(contents.status());
  for (const absl::string_view line : absl::StrSplit(*contents, '\n')) {
    model::v1::Look look;
    const auto status =
        google::protobuf::util::JsonStringToMessage(std::string(line), &look);
    if (!status.ok() || look.baseline_version() != baseline_version) continue;
    if (!last.has_value() || look.number() > last->number()) {
      last = std::move(look);
    } else if (look.number() == last->number()) {
      last->MergeFrom(look);
    }
  }
  return last;
}

absl::StatusOr<uint64_t> LookLedger::NextNumber(
    uint64_t baseline_version) const {
  const absl::StatusOr<std::string> contents = ReadFile(path_);
  if (absl::IsNotFound(contents.status())) return 1;
  RETURN_IF_ERROR(contents.status());
  return NumLooks(*contents, baseline_version) + 1;
}

absl::Status LookLedger::End(const model::v1::Look& look) {
  const int fd = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path_, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  return AppendLine(fd, path_, look, "");
}

double ShareOfLook(uint64_t number) {
  const double n = static_cast<double>(number) * std::numbers::pi;
  return 6 / (n * n);
}

// The rest of the sum of 1 / n^2 from n on is 1 / (n - 1/2) up to 1 / (12 n^3)
// [the midpoint rule], which counts where the ledger is long.
double ShareLeftAfter(uint64_t looks) {
  constexpr uint64_t kMaxSummed = 10000;
  if (looks > kMaxSummed) {
    const double pi = std::numbers::pi;
    return 6 / (pi * pi * (static_cast<double>(looks) + 0.5));
  }
  double left = 1;
  for (uint64_t number = 1; number <= looks; ++number) {
    left -= ShareOfLook(number);
  }
  return left;
}

}  // namespace sortition
