#include "client/import/import_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/import/imported_tuple.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

constexpr absl::string_view kRepeatedId =
    "decisions with the id of another one (--repeated_ids)";

absl::Status AtPlace(const InputPlace& place, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(place.file, ":", place.line,
                                                  ": ", status.message()));
}

}  // namespace

absl::StatusOr<ImportSink> ImportSink::Create(
    const config::v1::LogImportOptions& options,
    CrossReferences* cross_references, Take take) {
  ASSIGN_OR_RETURN(
      TimestampReader times,
      TimestampReader::Create(options.time_zone(), options.time_unit()));
  const std::string& name = options.repeated_ids();
  if (name != "error" && name != "first" && name != "last") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--repeated_ids is '", Shown(name), "', must be error, first or last"));
  }
  const Repeated repeated = name == "first"  ? Repeated::kFirst
                            : name == "last" ? Repeated::kLast
                                             : Repeated::kError;
  return ImportSink(options, repeated, times, cross_references,
                    std::move(take));
}

ImportSink::ImportSink(const config::v1::LogImportOptions& options,
                       Repeated repeated, TimestampReader times,
                       CrossReferences* cross_references, Take take)
    : skip_bad_(options.skip_bad()),
      id_prefix_(options.id_prefix()),
      repeated_(repeated),
      times_(times),
      cross_references_(cross_references),
      take_(std::move(take)) {}

void ImportSink::Add(const log::v1::LogRecord& record,
                     const InputPlace& place) {
  if (!status_.ok()) return;
  const log::v1::BanditTuple& tuple = record.tuple();
  const bool has_columns = tuple.decision().has_columns();
  absl::Status check = CheckTuple(tuple);
  if (check.ok() && has_columns) {
    check = columns_.Bind(tuple.decision().columns());
  }
  if (!check.ok()) return Bad(place, check);
  if (!IsTaken(tuple.decision().decision_id(), place)) return;
  status_ = take_(record);
  if (!status_.ok()) return;
  report_.statistics.Add(tuple, has_columns ? &columns_ : nullptr);
}

bool ImportSink::IsTaken(const std::string& id, const InputPlace& place) {
  // Decisions of a file begin in different lines, in every pass.
  constexpr int kLineBits = 40;
  const uint64_t number = (report_.files.size() << kLineBits) + place.line;
  const Hash128 hash = HashBytes(id);
  ++decisions_;
  const std::optional<uint64_t> last = cross_references_->LastOf(hash);
  const bool is_new =
      last ? *last == number : cross_references_->AddDecision(hash);
  if (is_new) return true;
  if (repeated_ == Repeated::kError) {
    --decisions_;  // Bad() counts it.
    Bad(place,
        absl::InvalidArgumentError(absl::StrCat(
            "decision id '", Shown(id),
            "' was given before, must be unique; --repeated_ids=first or last "
            "takes one of the decisions")));
    return false;
  }
  if (repeated_ == Repeated::kLast && !last) {
    cross_references_->AddRepetition(hash, number);
  }
  report_.left_out.Add(kRepeatedId, place);
  return false;
}

void ImportSink::Bad(const InputPlace& place, const absl::Status& why) {
  if (!skip_bad_) return Fail(place, why);
  if (report_.bad++ > 0) return;
  report_.first_bad = std::string(AtPlace(place, why).message());
}

void ImportSink::Fail(const InputPlace& place, const absl::Status& why) {
  if (status_.ok()) status_ = AtPlace(place, why);
}

absl::Status ImportSink::SetTime(absl::string_view text, absl::string_view name,
                                 const InputPlace& place,
                                 log::v1::Decision* decision) {
  ASSIGN_OR_RETURN(const auto time, times_.Parse(text, name));
  decision->set_time_us(time.time_us);
  if (time.is_zone_assumed) {
    report_.assumed.Add(
        absl::StrCat("times without a zone, read as ", times_.zone().name()),
        place);
  }
  return absl::OkStatus();
}

void ImportSink::MakeUpId(absl::string_view name, const InputPlace& place,
                          log::v1::Decision* decision) {
  decision->set_decision_id(absl::StrCat(id_prefix_, name));
  report_.assumed.Add(
      "decisions without an id, named after their line (--id_prefix tells "
      "imports apart)",
      place);
}

void ImportSink::MakeUpId(absl::string_view name, const Hash128& text_hash,
                          const InputPlace& place,
                          log::v1::Decision* decision) {
  decision->set_decision_id(absl::StrCat(
      id_prefix_, name, "-",
      absl::Hex(static_cast<uint32_t>(text_hash.low), absl::kZeroPad8)));
  report_.assumed.Add(
      "decisions without an id, named after their line and text", place);
}

absl::Status ImportSink::Finish() const {
  constexpr uint64_t kMaxPercent = 1;
  if (!status_.ok()) return status_;
  const uint64_t bad = report_.bad;
  if (bad * 100 > (decisions_ + bad) * kMaxPercent) {
    return absl::InvalidArgumentError(absl::StrCat(
        bad, " of ", decisions_ + bad, " decisions are bad, must be at most ",
        kMaxPercent, " %; the first: ", report_.first_bad));
  }
  if (tuples() == 0) {
    std::string message = "the input has no decision";
    for (const auto& [kind, entry] : report_.left_out.entries()) {
      absl::StrAppend(&message, "; left out: ", entry.count, " ", kind,
                      " (first: ", entry.first, ")");
    }
    return absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

}  // namespace sortition
