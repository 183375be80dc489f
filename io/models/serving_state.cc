#include "io/models/serving_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/policies/traffic_split.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "io/files.h"
#include "io/models/draw_salt.h"
#include "io/models/model_store.h"
#include "io/models/regular_file.h"
#include "io/models/text_message.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

using model::v1::Serving;

constexpr uint64_t kMaxBytes = 1 << 20;
constexpr size_t kKeptStates = 1000;
constexpr int kMostNamed = 64;  // Labels, arms or shadows.

std::string PathOf(const std::string& model_dir) {
  return absl::StrCat(model_dir, "/SERVING.textproto");
}

std::string HistoryOf(const std::string& model_dir) {
  return absl::StrCat(model_dir, "/.serving");
}

std::string PathOfChange(const std::string& model_dir, uint64_t change) {
  return absl::StrCat(HistoryOf(model_dir), "/", change, ".textproto");
}

absl::StatusOr<Serving> ReadState(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kMaxBytes));
  Serving serving;
  RETURN_IF_ERROR(
      ParseTextMessage(path, "what a server can serve by", text, &serving));
  if (const absl::Status status = ValidateServing(serving); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.message()));
  }
  return serving;
}

// Returns the numbers of the changes in the history, ascending.
absl::StatusOr<std::vector<uint64_t>> ListChanges(
    const std::string& model_dir) {
  std::vector<uint64_t> changes;
  const auto names = ListDirectory(HistoryOf(model_dir));
  if (absl::IsNotFound(names.status())) return changes;
  RETURN_IF_ERROR(names.status());
  for (absl::string_view name : *names) {
    uint64_t change = 0;
    if (absl::ConsumeSuffix(&name, ".textproto") &&
        absl::SimpleAtoi(name, &change)) {
      changes.push_back(change);
    }
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

absl::Status CheckVersion(absl::string_view field, uint64_t version) {
  if (version > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " = 0: must be the number of a version"));
}

absl::Status CheckCount(absl::string_view field, int count) {
  if (count <= kMostNamed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " has ", count, " entries, must have at most ", kMostNamed));
}

// Writes states. Holds the lock of the model's directory.
class Writer {
 public:
  static absl::StatusOr<Writer> Open(const std::string& model_dir) {
    const std::string dir = HistoryOf(model_dir);
    if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) {
      return PosixStatus(errno, dir, "cannot create");
    }
    const std::string path = absl::StrCat(dir, "/lock");
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return PosixStatus(errno, path, "cannot open");
    Writer writer(model_dir, fd);
    if (flock(fd, LOCK_EX) != 0) {
      return PosixStatus(errno, path, "cannot lock");
    }
    ASSIGN_OR_RETURN(writer.changes_, ListChanges(model_dir));
    return writer;
  }
  Writer(Writer&& other) noexcept
      : model_dir_(std::move(other.model_dir_)),
        fd_(std::exchange(other.fd_, -1)),
        changes_(std::move(other.changes_)) {}
  ~Writer() {
    if (fd_ >= 0) close(fd_);  // Unlocks.
  }

  // Returns the state to be changed; a good one that the history does not have
  // is added to it.
  absl::StatusOr<Serving> TakeUp() {
    absl::StatusOr<Serving> now = ReadServing(model_dir_);
    if (now.ok()) {
      if (now->change() == 0 && changes_.empty()) return now;
      const auto known = ReadState(PathOfChange(model_dir_, now->change()));
      if (known.ok() &&
          google::protobuf::util::MessageDifferencer::Equals(*known, *now)) {
        return now;
      }
      RETURN_IF_ERROR(Record({"edited by hand", ""}, &*now));
      return now;
    }
    if (absl::IsDataLoss(now.status()) ||
        absl::IsInvalidArgument(now.status())) {
      for (auto change = changes_.rbegin(); change != changes_.rend();
           ++change) {
        auto before = ReadState(PathOfChange(model_dir_, *change));
        if (before.ok()) return before;
      }
    }
    return now.status();
  }

  // Adds the state to the history, as the next change.
  absl::Status Record(const ChangeCause& cause, Serving* serving) {
    const uint64_t last = changes_.empty() ? 0 : changes_.back();
    serving->set_change(std::max(last, serving->change()) + 1);
    serving->set_time(
        absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()));
    serving->set_reason(cause.reason);
    serving->set_caller(cause.caller);
    RETURN_IF_ERROR(WriteFile(PathOfChange(model_dir_, serving->change()),
                              TextOf(*serving)));
    changes_.push_back(serving->change());
    while (changes_.size() > kKeptStates) {
      unlink(PathOfChange(model_dir_, changes_.front()).c_str());
      changes_.erase(changes_.begin());
    }
    return absl::OkStatus();
  }

  absl::Status Write(const Serving& serving) {
    return WriteFile(PathOf(model_dir_), TextOf(serving));
  }

 private:
  Writer(std::string model_dir, int fd)
      : model_dir_(std::move(model_dir)), fd_(fd) {}

  static std::string TextOf(const Serving& serving) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(serving, &text);
    return text;
  }

  std::string model_dir_;
  int fd_;
  std::vector<uint64_t> changes_;
};

}  // namespace

absl::Status ValidateServing(const Serving& serving) {
  RETURN_IF_ERROR(CheckCount("labels", serving.labels_size()));
  RETURN_IF_ERROR(CheckCount("split.arms", serving.split().arms_size()));
  RETURN_IF_ERROR(CheckCount("shadows", serving.shadows_size()));
  std::set<std::string> labels;
  for (const model::v1::VersionLabel& label : serving.labels()) {
    if (!ValidateModelName(label.name()).ok() ||
        !labels.insert(label.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "labels.name = \"", label.name(),
          "\": must be 1 to 64 letters, digits, '_', '-' or '.', not '.' "
          "first, and stand there once"));
    }
    RETURN_IF_ERROR(CheckVersion("labels.version", label.version()));
  }
  RETURN_IF_ERROR(ValidateSplit(serving.split()));
  RETURN_IF_ERROR(ValidateDrawSalt(serving.split().salt()));
  std::set<uint64_t> shadows;
  for (const model::v1::ShadowVersion& shadow : serving.shadows()) {
    RETURN_IF_ERROR(CheckVersion("shadows.version", shadow.version()));
    if (shadow.every() == 0 || !shadows.insert(shadow.version()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shadows of version ", shadow.version(), ": every = ", shadow.every(),
          ": must be at least 1, once for each version"));
    }
  }
  if (!model::v1::LearningMode_IsValid(serving.mode())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode = ", static_cast<int>(serving.mode()),
        ": must be ONLINE, APPRENTICE, EXPLORE_ABOVE_BASELINE, SHADOW or OFF"));
  }
  const bool explores = serving.mode() == model::v1::EXPLORE_ABOVE_BASELINE;
  if (explores ? serving.explore_parts() < 1 ||
                     serving.explore_parts() > kSplitPlaces
               : serving.explore_parts() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "explore_parts = ", serving.explore_parts(), ": must be in [1, ",
        kSplitPlaces, "] with EXPLORE_ABOVE_BASELINE, and unset otherwise"));
  }
  if (serving.mode() != model::v1::ONLINE && serving.split().arms_size() > 0 &&
      !explores && serving.mode() != model::v1::APPRENTICE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode = ", model::v1::LearningMode_Name(serving.mode()),
        ": the baseline decides alone, so there must be no split"));
  }
  return absl::OkStatus();
}

std::vector<uint64_t> NamedVersions(const Serving& serving) {
  std::set<uint64_t> versions;
  if (serving.pinned_version() > 0) versions.insert(serving.pinned_version());
  for (const auto& label : serving.labels()) versions.insert(label.version());
  for (const auto& arm : serving.split().arms()) versions.insert(arm.version());
  for (const auto& shadow : serving.shadows()) {
    versions.insert(shadow.version());
  }
  return {versions.begin(), versions.end()};
}

absl::StatusOr<Serving> ReadServing(const std::string& model_dir) {
  auto serving = ReadState(PathOf(model_dir));
  if (absl::IsNotFound(serving.status())) return Serving();
  return serving;
}

absl::StatusOr<Serving> ChangeServing(
    const std::string& model_dir, const ChangeCause& cause,
    absl::FunctionRef<absl::Status(Serving*)> edit) {
  ASSIGN_OR_RETURN(Writer writer, Writer::Open(model_dir));
  ASSIGN_OR_RETURN(Serving serving, writer.TakeUp());
  RETURN_IF_ERROR(edit(&serving));
  if (serving.split().arms().empty()) {
    serving.clear_split();
  } else if (serving.split().salt().empty()) {
    serving.mutable_split()->set_salt(RandomDrawSalt());
  }
  RETURN_IF_ERROR(ValidateServing(serving));
  RETURN_IF_ERROR(writer.Record(cause, &serving));
  RETURN_IF_ERROR(writer.Write(serving));
  return serving;
}

absl::Status WithServing(const std::string& model_dir,
                         absl::FunctionRef<absl::Status(const Serving&)> use) {
  ASSIGN_OR_RETURN(const Writer lock, Writer::Open(model_dir));
  ASSIGN_OR_RETURN(const Serving serving, ReadServing(model_dir));
  return use(serving);
}

absl::StatusOr<std::vector<Serving>> ServingHistory(
    const std::string& model_dir) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> changes, ListChanges(model_dir));
  std::vector<Serving> states;
  for (const uint64_t change : changes) {
    const std::string path = PathOfChange(model_dir, change);
    auto state = ReadState(path);
    if (absl::IsNotFound(state.status())) continue;  // Just removed.
    RETURN_IF_ERROR(state.status());
    states.push_back(*std::move(state));
  }
  return states;
}

}  // namespace sortition
