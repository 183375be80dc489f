#include "client/upkeep/log_erase.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/logs/log_scan.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"
#include "io/upkeep/segment_rewrite.h"
#include "io/upkeep/upkeep_lock.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

using config::v1::LogEraseOptions;
using log::v1::LogRecord;
using log::v1::SegmentHeader;

constexpr char kNoted[] = "/.erasing";
constexpr char kAudit[] = "/erasures.jsonl";

std::string TimeText(int64_t time_us) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Learns the decisions of the units.
class LearningScan : public LogVisitor {
 public:
  explicit LearningScan(EraseIds* ids) : ids_(*ids) {}
  void BeginSegment(const std::string&) override {}
  absl::Status Record(const LogRecord& record, const ScannedFrame&) override {
    ids_.Learn(record);
    return absl::OkStatus();
  }
  absl::Status Corrupt(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status EndSegment(const SegmentEnd&) override {
    return absl::OkStatus();
  }

 private:
  EraseIds& ids_;
};

// A segment that has something to be erased, or damage that may hide it.
struct FoundSegment {
  std::string path;
  SegmentHeader::Kind kind = SegmentHeader::KIND_UNSPECIFIED;
  EraseCounts counts;
  bool has_damage = false;
  SegmentEnd end;
};

// Finds what is to be erased.
class FindingScan : public LogVisitor {
 public:
  explicit FindingScan(const EraseIds& ids) : ids_(ids) {}

  void BeginSegment(const std::string& path) override {
    segment_ = {};
    segment_.path = path;
  }
  absl::Status Record(const LogRecord& record,
                      const ScannedFrame& frame) override {
    if (record.has_header()) {
      segment_.kind = record.header().kind();
      if (segment_.kind == SegmentHeader::TUPLES) {
        options_text_ = record.header().options();
      }
      return absl::OkStatus();
    }
    if (!ids_.Matches(record)) {
      // Fields that this program does not know may hold an id.
      segment_.has_damage |=
          record.record_case() == LogRecord::RECORD_NOT_SET &&
          ids_.MatchesBytes(frame.payload);
      return absl::OkStatus();
    }
    CountErased(record, &segment_.counts);
    if (record.has_decision()) {
      int64_t& time_us = decided_[record.decision().decision_id()];
      time_us = std::max(time_us, record.decision().time_us());
    }
    if (record.has_tuple()) {
      joined_.insert(record.tuple().decision().decision_id());
    }
    return absl::OkStatus();
  }
  absl::Status Corrupt(uint64_t, uint64_t) override {
    segment_.has_damage = true;
    return absl::OkStatus();
  }
  absl::Status EndSegment(const SegmentEnd& end) override {
    segment_.end = end;
    if (segment_.counts.all() > 0 || segment_.has_damage) {
      segments_.push_back(segment_);
    }
    return absl::OkStatus();
  }

  const std::vector<FoundSegment>& segments() const { return segments_; }
  // Returns the join options of the newest segment of tuples.
  const std::string& options_text() const { return options_text_; }
  // Returns the time of the latest decision in a spool that has no tuple; 0 if
  // there is none.
  int64_t LatestUnjoined() const {
    int64_t latest_us = 0;
    for (const auto& [id, time_us] : decided_) {
      if (!joined_.contains(id)) latest_us = std::max(latest_us, time_us);
    }
    return latest_us;
  }

 private:
  const EraseIds& ids_;
  FoundSegment segment_;
  std::vector<FoundSegment> segments_;
  std::string options_text_;
  std::map<std::string, int64_t> decided_;
  std::set<std::string> joined_;
};

absl::Status AddLines(const std::string& path,
                      const std::function<void(const std::string&)>& add) {
  if (path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) add(std::string(line));
  }
  return absl::OkStatus();
}

absl::StatusOr<EraseIds> ReadIds(const LogEraseOptions& options) {
  EraseIds ids;
  const auto add_unit = [&](const std::string& unit) { ids.AddUnit(unit); };
  const auto add_decision = [&](const std::string& id) { ids.AddDecision(id); };
  for (const std::string& unit : options.unit()) {
    if (unit.empty()) {
      return absl::InvalidArgumentError("unit is empty, must be an id");
    }
    add_unit(unit);
  }
  for (const std::string& id : options.decision()) {
    if (id.empty()) {
      return absl::InvalidArgumentError("decision is empty, must be an id");
    }
    add_decision(id);
  }
  RETURN_IF_ERROR(AddLines(options.units(), add_unit));
  RETURN_IF_ERROR(AddLines(options.decisions(), add_decision));
  return ids;
}

// Appends to a file and syncs it.
absl::Status AppendLine(const std::string& path, const std::string& line) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const ssize_t written = write(fd, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  const bool is_written = written == static_cast<ssize_t>(line.size());
  const absl::Status synced = is_written
                                  ? SyncFile(fd, path)
                                  : PosixStatus(error, path, "cannot write");
  close(fd);
  return synced;
}

class Erasure {
 public:
  Erasure(const LogEraseOptions& options, std::vector<std::string> dirs,
          EraseIds ids)
      : options_(options), dirs_(std::move(dirs)), ids_(std::move(ids)) {}

  // Reads what earlier runs have noted.
  absl::Status ReadNoted() {
    for (const std::string& dir : dirs_) {
      if (!Exists(dir + kNoted)) continue;
      had_noted_ = true;
      bool is_first = true;
      RETURN_IF_ERROR(AddLines(dir + kNoted, [&](const std::string& line) {
        int64_t time_us = 0;
        if (std::exchange(is_first, false)) {
          if (absl::SimpleAtoi(line, &time_us)) NotePending(time_us);
        } else {
          ids_.AddDecision(line);
        }
      }));
    }
    return absl::OkStatus();
  }
  bool has_ids() const { return !ids_.empty(); }

  // Erases what can be erased now.
  absl::Status Run() {
    result_.left.clear();
    RETURN_IF_ERROR(ForEachDirectory(
        [](const std::string& dir) { return RemoveRewriteLeftovers(dir); }));
    ASSIGN_OR_RETURN(std::vector<std::string> paths, Segments());
    LearningScan learning(&ids_);
    RETURN_IF_ERROR(ScanSegments(paths, &learning, "reading units"));
    FindingScan finding(ids_);
    RETURN_IF_ERROR(ScanSegments(paths, &finding, "finding records"));
    if (HasSidecar()) NotePending(finding.LatestUnjoined());
    if (!options_.dry_run()) RETURN_IF_ERROR(Note());
    for (const FoundSegment& segment : finding.segments()) {
      RETURN_IF_ERROR(EraseIn(segment));
    }
    FindPending(finding);
    return absl::OkStatus();
  }

  bool is_done() const { return result_.left.empty(); }

  // Notes what was done, and forgets the ids if nothing is left.
  absl::StatusOr<EraseResult> Finish() {
    if (!options_.dry_run()) {
      RETURN_IF_ERROR(WriteAudit());
      if (is_done()) RETURN_IF_ERROR(ForgetNoted());
    }
    FindElsewhere();
    return std::move(result_);
  }

 private:
  // Calls `visit` with each directory and, if it is there, its late/.
  template <typename Visit>
  absl::Status ForEachDirectory(const Visit& visit) const {
    for (const std::string& dir : dirs_) {
      RETURN_IF_ERROR(visit(dir));
      if (Exists(dir + "/late")) RETURN_IF_ERROR(visit(dir + "/late"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> Segments() const {
    std::vector<std::string> paths;
    RETURN_IF_ERROR(
        ForEachDirectory([&](const std::string& dir) -> absl::Status {
          ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           ListSegments(dir));
          for (const std::string& name : names) {
            absl::string_view plain = name;
            absl::ConsumeSuffix(&plain, kCompressedSuffix);
            paths.push_back(absl::StrCat(dir, "/", plain));
          }
          return absl::OkStatus();
        }));
    return paths;
  }

  absl::Status Note() const {
    std::set<std::string> sorted(ids_.decisions().begin(),
                                 ids_.decisions().end());
    std::string text = absl::StrCat(pending_us_, "\n");
    for (const std::string& id : sorted) absl::StrAppend(&text, id, "\n");
    for (const std::string& dir : dirs_) {
      RETURN_IF_ERROR(WriteFile(dir + kNoted, text));
      RETURN_IF_ERROR(SyncDirectory(dir));
    }
    return absl::OkStatus();
  }

  absl::Status ForgetNoted() const {
    for (const std::string& dir : dirs_) {
      const std::string path = dir + kNoted;
      if (unlink(path.c_str()) != 0 && errno != ENOENT) {
        return PosixStatus(errno, path, "cannot remove");
      }
      RETURN_IF_ERROR(SyncDirectory(dir));
    }
    return absl::OkStatus();
  }

  absl::Status EraseIn(const FoundSegment& segment) {
    bool is_closed = segment.end.closed;
    if (!is_closed && !segment.end.live &&
        segment.kind == SegmentHeader::SPOOL && !options_.dry_run()) {
      // Whoever finds the segment of a dead writer may close it.
      const auto footer = RecoverSegment(segment.path);
      if (footer.ok()) {
        is_closed = true;
      } else if (!absl::IsFailedPrecondition(footer.status())) {
        return footer.status();
      }
    }
    if (!is_closed) {
      if (segment.counts.all() == 0) return absl::OkStatus();
      result_.left.push_back(absl::StrCat(
          segment.counts.Text(), " in ", segment.path,
          segment.end.live
              ? ", which is being written: run again when it was closed "
                "(segment_seconds of its writer)"
              : ", which its writer did not close: start the sidecar, which "
                "does so, and run again"));
      return absl::OkStatus();
    }
    if (options_.dry_run()) {
      if (segment.counts.all() == 0) return absl::OkStatus();
      ++result_.segments;
      result_.erased.Add(segment.counts);
      return absl::OkStatus();
    }
    std::string dir =
        std::filesystem::path(segment.path).parent_path().string();
    if (std::filesystem::path(dir).filename() == "late") {
      dir = std::filesystem::path(dir).parent_path().string();
    }
    std::optional<UpkeepLock> lock;
    if (segment.kind != SegmentHeader::SPOOL) {
      ASSIGN_OR_RETURN(lock, UpkeepLock::Take(dir));
    }
    EraseEdit edit(ids_);
    ASSIGN_OR_RETURN(const bool is_there,
                     RewriteSegmentRecords(segment.path, &edit));
    if (!is_there || edit.counts().all() == 0) return absl::OkStatus();
    ++result_.segments;
    result_.erased.Add(edit.counts());
    erased_in_[dir].Add(edit.counts());
    return absl::OkStatus();
  }

  bool HasSidecar() const {
    return std::any_of(dirs_.begin(), dirs_.end(), [](const std::string& dir) {
      const auto is_live = SegmentHasLiveWriter(dir + "/sidecar.lock");
      return is_live.ok() && *is_live;
    });
  }

  // A sidecar that runs has read a decision of this time, and may write its
  // tuple until the window is over.
  void NotePending(int64_t time_us) {
    pending_us_ = std::max(pending_us_, time_us);
  }

  void FindPending(const FindingScan& finding) {
    if (pending_us_ == 0 || !HasSidecar()) return;
    // The join options of the sidecar, or the defaults before it has written
    // tuples.
    config::v1::SidecarOptions sidecar;
    google::protobuf::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.ParseFromString(finding.options_text(), &sidecar);
    const int64_t until_us =
        pending_us_ +
        Micros(sidecar.join().reward_wait_time_seconds() +
               sidecar.join().slack_seconds() + sidecar.segment_seconds() +
               sidecar.sync_interval_seconds());
    if (until_us <= NowUs()) return;
    result_.left.push_back(absl::StrCat(
        "decisions that had no tuple yet: the sidecar that runs has read them "
        "and may write tuples until ",
        TimeText(until_us), ": run again after that"));
  }

  // One line in each directory, without ids.
  absl::Status WriteAudit() const {
    for (const std::string& dir : dirs_) {
      const auto found = erased_in_.find(dir);
      const EraseCounts counts =
          found == erased_in_.end() ? EraseCounts{} : found->second;
      if (counts.all() == 0 && is_done() && !had_noted_) continue;
      RETURN_IF_ERROR(AppendLine(
          dir + kAudit,
          absl::StrFormat(
              R"({"time":"%s","by":"%s","reason":"%s","decisions":%d,)"
              R"("tuples":%d,"shown":%d,"feedback":%d,"late":%d,"views":%d,)"
              R"("damaged":%d,"complete":%s})"
              "\n",
              TimeText(NowUs()), Kinds(), Escaped(options_.reason()),
              counts.decisions, counts.tuples, counts.shown, counts.feedback,
              counts.late, counts.views, counts.damaged,
              is_done() ? "true" : "false")));
    }
    return absl::OkStatus();
  }

  // The kind of ids that was asked for.
  std::string Kinds() const {
    const bool units = options_.unit_size() > 0 || !options_.units().empty();
    const bool decisions =
        options_.decision_size() > 0 || !options_.decisions().empty();
    return units && decisions ? "unit and decision"
           : units            ? "unit"
           : decisions        ? "decision"
                              : "rest of an earlier run";
  }

  static std::string Escaped(absl::string_view text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '"' || c == '\\') escaped.push_back('\\');
      escaped.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
    return escaped;
  }

  void FindElsewhere() {
    for (const std::string& dir : dirs_) {
      if (Exists(dir + "/.published")) {
        result_.elsewhere.push_back(absl::StrCat(
            dir,
            " is published to a stream: the stream keeps what no mirror "
            "has on its disk yet; erase from the mirror, too"));
      }
      const auto memory = ListDirectory(dir + "/memory");
      if (memory.ok() &&
          std::any_of(memory->begin(), memory->end(), [](const auto& name) {
            return absl::EndsWith(name, ".ids");
          })) {
        result_.elsewhere.push_back(absl::StrCat(
            dir,
            "/memory has hashes of the ids of decisions and feedback of "
            "spool segments that were removed; the sidecar drops each "
            "after two windows"));
      }
    }
    result_.elsewhere.push_back(
        "model versions that an older sortition-trainer published have up to "
        "warmup_queries decisions with their texts (publish anew; "
        "`sortition-trainer prune` removes old versions); copies made by "
        "`log export`, `log compact` and backups, and reward files, are yours "
        "to remove");
  }

  const LogEraseOptions& options_;
  const std::vector<std::string> dirs_;
  EraseIds ids_;
  EraseResult result_;
  std::map<std::string, EraseCounts> erased_in_;
  bool had_noted_ = false;  // An earlier run left something.
  int64_t pending_us_ = 0;  // Time of the latest decision without a tuple.
};

// InvalidArgument if `dir` has no segments and directories below it do: it is
// then the folder around a spool and tuples, in which nothing would be found.
absl::Status CheckIsNoParent(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> segments, ListSegments(dir));
  if (!segments.empty()) return absl::OkStatus();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (!entry.is_directory(error)) continue;
    const auto below = ListSegments(entry.path());
    if (!below.ok() || below->empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", dir, "' has no segments, but '", entry.path().string(),
        "' has: name each spool and each directory of tuples"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CheckDirectories(
    const std::vector<std::string>& dirs) {
  std::vector<std::string> checked;
  for (const std::string& dir : dirs) {
    std::error_code error;
    if (!std::filesystem::is_directory(dir, error)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", dir, "' must be a directory of segments: a spool or tuples"));
    }
    RETURN_IF_ERROR(CheckIsNoParent(dir));
    std::string plain = dir;
    while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
    checked.push_back(std::move(plain));
  }
  return checked;
}

}  // namespace

absl::StatusOr<EraseResult> EraseFromLog(const LogEraseOptions& options,
                                         const std::vector<std::string>& dirs) {
  ASSIGN_OR_RETURN(EraseIds ids, ReadIds(options));
  ASSIGN_OR_RETURN(const std::vector<std::string> checked,
                   CheckDirectories(dirs));
  Erasure erasure(options, checked, std::move(ids));
  RETURN_IF_ERROR(erasure.ReadNoted());
  if (!erasure.has_ids()) {
    return absl::InvalidArgumentError(
        "nothing to erase: give unit, decision, units or decisions; no earlier "
        "run has left anything");
  }
  const absl::Time end =
      absl::Now() +
      absl::Seconds(options.dry_run() ? 0 : options.wait_seconds());
  while (true) {
    RETURN_IF_ERROR(erasure.Run());
    if (erasure.is_done() || absl::Now() >= end) return erasure.Finish();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace sortition
