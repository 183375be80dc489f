#include "trainer/rollout/rollout_ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/files.h"
#include "io/models/store_owner.h"
#include "io/posix_status.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

using model::v1::LedgerIdentity;
using model::v1::LedgerOutcome;
using model::v1::LedgerRecord;
using model::v1::LedgerRound;
using model::v1::Rollout;

constexpr uint32_t kFormatVersion = 1;

std::string LedgerPath(const std::string& model_dir) {
  return absl::StrCat(model_dir, "/ROLLOUT_LEDGER");
}

LedgerIdentity IdentityOf(const Rollout& rollout) {
  LedgerIdentity identity;
  identity.set_format_version(kFormatVersion);
  identity.set_salt(rollout.salt());
  identity.set_canary_version(rollout.canary_version());
  identity.set_stable_version(rollout.stable_version());
  identity.set_started_us(rollout.started_us());
  return identity;
}

absl::Status Unusable(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(
      path, ": ", why,
      ". The evidence of this rollout is in that file and cannot be made "
      "again: restore the file from a copy, or end the rollout with "
      "`sortition-trainer rollout --stop` and begin a new one"));
}

// Checks the identity in the first record, and that no record is missing.
class LedgerCheck {
 public:
  LedgerCheck(const std::string& path, const Rollout& rollout)
      : path_(path), identity_(IdentityOf(rollout).SerializeAsString()) {}

  absl::Status Take(const LedgerRecord& record) {
    const bool is_first = num_records_++ == 0;
    if (is_first != record.has_identity()) {
      return Unusable(path_, "its first record is missing, or there twice");
    }
    if (is_first && record.identity().format_version() != kFormatVersion) {
      return Unusable(path_, absl::StrCat("format_version is ",
                                          record.identity().format_version(),
                                          ", must be ", kFormatVersion));
    }
    if (is_first && record.identity().SerializeAsString() != identity_) {
      return Unusable(path_,
                      absl::StrCat("belongs to another rollout, of version ",
                                   record.identity().canary_version(), " over ",
                                   record.identity().stable_version()));
    }
    if (record.first_round() != num_rounds_) {
      return Unusable(path_, absl::StrCat("round ", num_rounds_,
                                          " is missing: a record "
                                          "begins with round ",
                                          record.first_round()));
    }
    num_rounds_ += static_cast<uint64_t>(record.rounds_size());
    return absl::OkStatus();
  }
  bool is_empty() const { return num_records_ == 0; }

 private:
  const std::string path_;
  const std::string identity_;
  uint64_t num_records_ = 0;
  uint64_t num_rounds_ = 0;
};

}  // namespace

absl::Status CreateLedger(const std::string& model_dir,
                          const Rollout& rollout) {
  LedgerRecord record;
  *record.mutable_identity() = IdentityOf(rollout);
  record.set_step_us(rollout.started_us());
  std::string frame;
  AppendFrame(record.SerializeAsString(), &frame);
  const AsStoreOwner owner(model_dir);
  RETURN_IF_ERROR(WriteFile(LedgerPath(model_dir), frame));
  return SyncDirectory(model_dir);
}

absl::StatusOr<LedgerEnd> ReadLedger(
    const std::string& model_dir, const Rollout& rollout,
    absl::FunctionRef<absl::Status(const LedgerRecord&)> take) {
  const std::string path = LedgerPath(model_dir);
  const auto opened = SegmentReader::Open(path);
  if (absl::IsNotFound(opened.status())) {
    return Unusable(path, "there is no such file");
  }
  RETURN_IF_ERROR(opened.status());
  SegmentReader& reader = **opened;
  LedgerCheck check(path, rollout);
  LedgerRecord record;
  LedgerEnd end;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader.Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kEnd ||
        outcome == SegmentReader::Outcome::kIncomplete) {
      break;
    }
    if (outcome == SegmentReader::Outcome::kCorrupt ||
        !ParseMessage(payload, &record)) {
      // Intact frames may follow: pages of an append that was interrupted reach
      // the disk in any order.
      if (offset >= rollout.ledger_bytes()) break;
      return Unusable(
          path, absl::StrCat("the record at byte ", offset, " is damaged"));
    }
    RETURN_IF_ERROR(check.Take(record));
    RETURN_IF_ERROR(take(record));
    end.bytes = reader.offset();
  }
  if (check.is_empty() || end.bytes < rollout.ledger_bytes()) {
    return Unusable(path, absl::StrCat("can be read up to byte ", end.bytes,
                                       ", and had ", rollout.ledger_bytes(),
                                       " when a step acted upon it"));
  }
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return PosixStatus(error.value(), path, "cannot look at");
  end.torn_bytes = size - std::min(size, end.bytes);
  return end;
}

absl::Status AppendToLedger(const std::string& model_dir,
                            const std::vector<LedgerRecord>& records,
                            LedgerEnd* end) {
  const AsStoreOwner owner(model_dir);
  const std::string path = LedgerPath(model_dir);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  RETURN_IF_ERROR(TruncateFile(fd, path, end->bytes));
  end->torn_bytes = 0;
  std::string frame;
  for (const LedgerRecord& record : records) {
    frame.clear();
    AppendFrame(record.SerializeAsString(), &frame);
    RETURN_IF_ERROR(WriteAll(fd, path, &end->bytes, {ToIovec(frame)}));
  }
  return SyncFile(fd, path);
}

LedgerRound ToLedger(const UnitRound& round) {
  LedgerRound written;
  written.set_unit(round.unit);
  written.set_names_unit(round.has_unit);
  written.set_time_us(round.time_us);
  written.set_places(PlacesOfShare(round.share));
  written.set_is_canary(round.is_canary);
  written.set_canary_probability(round.canary_probability);
  return written;
}

UnitRound FromLedger(const LedgerRound& round) {
  return {.unit = round.unit(),
          .has_unit = round.names_unit(),
          .time_us = round.time_us(),
          .share = ShareOfPlaces(round.places()),
          .is_canary = round.is_canary(),
          .canary_probability = round.canary_probability()};
}

LedgerOutcome ToLedger(const RoundOutcome& outcome) {
  LedgerOutcome written;
  written.set_round(outcome.round);
  written.set_outcome(outcome.outcome);
  switch (outcome.why_void) {
    case RoundVoid::kNotVoid:
      written.set_decisions(outcome.decisions);
      written.set_mean(outcome.mean);
      break;
    case RoundVoid::kCensored:
      written.set_why_void(LedgerOutcome::CENSORED);
      break;
    case RoundVoid::kGone:
      written.set_why_void(LedgerOutcome::GONE);
      break;
  }
  return written;
}

RoundOutcome FromLedger(const LedgerOutcome& outcome) {
  RoundOutcome read{.round = outcome.round(),
                    .outcome = outcome.outcome(),
                    .decisions = outcome.decisions(),
                    .mean = outcome.mean()};
  if (outcome.why_void() == LedgerOutcome::CENSORED) {
    read.why_void = RoundVoid::kCensored;
  } else if (outcome.why_void() == LedgerOutcome::GONE) {
    read.why_void = RoundVoid::kGone;
  }
  return read;
}

}  // namespace sortition
