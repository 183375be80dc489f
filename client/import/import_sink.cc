#include "client/import/import_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/import/imported_tuple.h"
#include "io/text/parse_number.h"

namespace sortition {

ImportSink::ImportSink(bool skip_bad, Take take)
    : skip_bad_(skip_bad), take_(std::move(take)) {}

void ImportSink::Add(const log::v1::LogRecord& record,
                     const InputPlace& place) {
  if (!status_.ok()) return;
  const log::v1::BanditTuple& tuple = record.tuple();
  absl::Status check = CheckTuple(tuple);
  if (check.ok() && tuple.decision().has_columns()) {
    check = columns_.Bind(tuple.decision().columns());
  }
  if (!check.ok()) return Bad(place, check);
  const std::string& id = tuple.decision().decision_id();
  if (!ids_.insert(HashBytes(id)).second) {
    return Bad(place, absl::InvalidArgumentError(
                          absl::StrCat("decision id '", Shown(id),
                                       "' was given before, must be unique")));
  }
  status_ = take_(record);
  if (status_.ok()) ++tuples_;
}

void ImportSink::Bad(const InputPlace& place, const absl::Status& why) {
  if (!skip_bad_) return Fail(place, why);
  if (bad_++ > 0) return;
  first_bad_ = absl::Status(
      why.code(),
      absl::StrCat(place.file, ":", place.line, ": ", why.message()));
}

void ImportSink::Fail(const InputPlace& place, const absl::Status& why) {
  if (!status_.ok()) return;
  status_ = absl::Status(why.code(), absl::StrCat(place.file, ":", place.line,
                                                  ": ", why.message()));
}

absl::Status ImportSink::Finish() const {
  constexpr uint64_t kMostPercent = 1;
  if (!status_.ok()) return status_;
  if (bad_ * 100 > (tuples_ + bad_) * kMostPercent) {
    return absl::InvalidArgumentError(absl::StrCat(
        bad_, " of ", tuples_ + bad_, " decisions are bad, must be at most ",
        kMostPercent, " %; the first: ", first_bad_.message()));
  }
  if (tuples_ == 0) return absl::InvalidArgumentError("there is no decision");
  return absl::OkStatus();
}

}  // namespace sortition
