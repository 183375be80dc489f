#include "io/models/serving_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "io/files.h"
#include "io/models/draw_salt.h"
#include "io/models/regular_file.h"
#include "io/models/store_owner.h"
#include "io/models/text_message.h"
#include "io/posix_status.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

using model::v1::Serving;

constexpr uint64_t kMaxBytes = 1 << 20;
// A writer holds the lock while it loads versions.
constexpr absl::Duration kLongestLockWait = absl::Seconds(30);

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
  // Whoever does not replace a file by rename leaves it empty for a moment,
  // which must not end a pin.
  if (absl::StripAsciiWhitespace(text).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": is empty: must be a state; \"change: 0\" is one in which the "
        "newest version serves"));
  }
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

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return PosixStatus(errno, path, "cannot create");
}

// Waits for the lock, but not for ever.
absl::Status Lock(int fd, const std::string& path) {
  const absl::Time deadline = absl::Now() + kLongestLockWait;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return PosixStatus(errno, path, "cannot lock");
    }
    if (absl::Now() > deadline) {
      return absl::UnavailableError(
          absl::StrCat(path, ": another program has held the lock for ",
                       absl::FormatDuration(kLongestLockWait), "; try again"));
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return absl::OkStatus();
}

// Writes states. Holds the lock of the model's directory.
class Writer {
 public:
  static absl::StatusOr<Writer> Open(const std::string& model_dir) {
    RETURN_IF_ERROR(MakeDirectory(model_dir));  // Before the first version.
    RETURN_IF_ERROR(MakeDirectory(HistoryOf(model_dir)));
    const std::string path = absl::StrCat(HistoryOf(model_dir), "/lock");
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return PosixStatus(errno, path, "cannot open");
    Writer writer(model_dir, fd);
    RETURN_IF_ERROR(Lock(fd, path));
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

  // Returns the state to be changed.
  absl::StatusOr<Serving> Read() const {
    absl::StatusOr<Serving> now = ReadServing(model_dir_);
    if (!absl::IsDataLoss(now.status()) &&
        !absl::IsInvalidArgument(now.status())) {
      return now;
    }
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      auto before = ReadState(PathOfChange(model_dir_, *change));
      if (before.ok()) return before;
    }
    return absl::Status(
        now.status().code(),
        absl::StrCat(now.status().message(), "; mend or remove it"));
  }

  // Returns whether `now` is as the newest change of the history made it, not
  // edited by hand since.
  bool Knows(const Serving& now) const {
    if (changes_.empty()) return now.change() == 0;
    if (changes_.back() != now.change()) return false;
    const auto known = ReadState(PathOfChange(model_dir_, now.change()));
    return known.ok() &&
           google::protobuf::util::MessageDifferencer::Equals(*known, now);
  }

  // Adds the state to the history, as the next change.
  absl::Status Record(const ChangeCause& cause, Serving* serving) {
    const uint64_t last = changes_.empty() ? 0 : changes_.back();
    serving->set_change(std::max(last, serving->change()) + 1);
    serving->set_time(
        absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()));
    serving->set_reason(cause.reason);
    serving->set_caller(cause.caller);
    RETURN_IF_ERROR(WriteChange(*serving));
    changes_.push_back(serving->change());
    while (changes_.size() > kKeptStates) {
      unlink(PathOfChange(model_dir_, changes_.front()).c_str());
      changes_.erase(changes_.begin());
    }
    return absl::OkStatus();
  }

  // Puts the state that was recorded last in force.
  absl::Status Write(const Serving& serving) {
    absl::Status status = WriteFile(PathOf(model_dir_), TextOf(serving));
    if (!status.ok()) {
      unlink(PathOfChange(model_dir_, serving.change()).c_str());
      return status;
    }
    return SyncDirectory(model_dir_);
  }

 private:
  Writer(std::string model_dir, int fd)
      : model_dir_(std::move(model_dir)), fd_(fd) {}

  static std::string TextOf(const Serving& serving) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(serving, &text);
    return text;
  }

  // By link(), which replaces nothing: on a file system whose locks hold on one
  // machine only, the second of two changes fails, and none is lost.
  absl::Status WriteChange(const Serving& serving) const {
    const std::string dir = HistoryOf(model_dir_);
    const std::string temporary = absl::StrCat(dir, "/.tmp-", RandomDrawSalt());
    const absl::Cleanup remover = [&] { unlink(temporary.c_str()); };
    RETURN_IF_ERROR(WriteFile(temporary, TextOf(serving)));
    const std::string path = PathOfChange(model_dir_, serving.change());
    if (link(temporary.c_str(), path.c_str()) != 0) {
      if (errno != EEXIST) return PosixStatus(errno, path, "cannot link to");
      return absl::AbortedError(
          absl::StrCat(path,
                       ": another program has made this change "
                       "meanwhile; look at it again"));
    }
    return SyncDirectory(dir);
  }

  std::string model_dir_;
  int fd_;
  std::vector<uint64_t> changes_;
};

}  // namespace

absl::StatusOr<Serving> ReadServing(const std::string& model_dir) {
  auto serving = ReadState(PathOf(model_dir));
  if (!absl::IsNotFound(serving.status())) return serving;
  // Writers replace the file and never remove it.
  ASSIGN_OR_RETURN(const std::vector<uint64_t> changes, ListChanges(model_dir));
  if (changes.empty()) return Serving();
  return absl::DataLossError(absl::StrCat(
      PathOf(model_dir), " is gone, though there was change ", changes.back(),
      "; copy ", PathOfChange(model_dir, changes.back()), " there"));
}

absl::StatusOr<Serving> ChangeServing(
    const std::string& model_dir, const ChangeCause& cause,
    absl::FunctionRef<absl::Status(Serving*)> edit) {
  const AsStoreOwner owner(model_dir);
  ASSIGN_OR_RETURN(Writer writer, Writer::Open(model_dir));
  ASSIGN_OR_RETURN(Serving before, writer.Read());
  Serving serving = before;
  RETURN_IF_ERROR(edit(&serving));
  if (serving.split().arms().empty()) {
    serving.clear_split();
  } else if (serving.split().salt().empty()) {
    serving.mutable_split()->set_salt(RandomDrawSalt());
  }
  if (serving.has_interleave() && serving.interleave().salt().empty()) {
    serving.mutable_interleave()->set_salt(RandomDrawSalt());
  }
  RETURN_IF_ERROR(ValidateServing(serving));
  if (!writer.Knows(before)) {
    RETURN_IF_ERROR(writer.Record({"edited by hand", ""}, &before));
  }
  RETURN_IF_ERROR(writer.Record(cause, &serving));
  RETURN_IF_ERROR(writer.Write(serving));
  return serving;
}

absl::Status WithServing(const std::string& model_dir,
                         absl::FunctionRef<absl::Status(const Serving&)> use) {
  const AsStoreOwner owner(model_dir);
  ASSIGN_OR_RETURN(const Writer lock, Writer::Open(model_dir));
  ASSIGN_OR_RETURN(const Serving serving, ReadServing(model_dir));
  return use(serving);
}

absl::StatusOr<std::vector<Serving>> ServingHistory(
    const std::string& model_dir, size_t most) {
  ASSIGN_OR_RETURN(std::vector<uint64_t> changes, ListChanges(model_dir));
  if (changes.size() > most) {
    changes.erase(changes.begin(),
                  changes.end() - static_cast<ptrdiff_t>(most));
  }
  std::vector<Serving> states;
  for (const uint64_t change : changes) {
    auto state = ReadState(PathOfChange(model_dir, change));
    if (absl::IsUnavailable(state.status())) return state.status();
    if (state.ok()) states.push_back(*std::move(state));
  }
  return states;
}

}  // namespace sortition
