#pragma once
// Where importers put tuples, and what they could not read.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/import/cross_references.h"
#include "client/import/import_report.h"
#include "io/columns/undeclared_columns.h"
#include "io/text/timestamp.h"
#include "sortition/config/v1/log_files.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// One pass over the input of an import. Not thread-safe.
class ImportSink {
 public:
  using Take = std::function<absl::Status(const log::v1::LogRecord&)>;
  // Which decision of those with the same id is taken.
  enum class Repeated { kError, kFirst, kLast };

  // InvalidArgument naming the option. `cross_references` must outlive the
  // sink.
  static absl::StatusOr<ImportSink> Create(
      const config::v1::LogImportOptions& options,
      CrossReferences* cross_references, Take take);

  // Takes the tuple in `record` if it is one that can be learned from and its
  // id is new; else it is bad.
  void Add(const log::v1::LogRecord& record, const InputPlace& place);
  // A decision could not be read. Fatal without --skip_bad.
  void Bad(const InputPlace& place, const absl::Status& why);
  // Nothing more can be read.
  void Fail(const InputPlace& place, const absl::Status& why);

  // Sets the time of the decision, as the options say how to read it.
  absl::Status SetTime(absl::string_view text, absl::string_view name,
                       const InputPlace& place, log::v1::Decision* decision);

  // Gives a decision without an id `name` behind --id_prefix.
  void MakeUpId(absl::string_view name, const InputPlace& place,
                log::v1::Decision* decision);
  // Appends a hash of the text that the decision was read from, so that
  // decisions of different files have different ids.
  void MakeUpId(absl::string_view name, const Hash128& text_hash,
                const InputPlace& place, log::v1::Decision* decision);

  // The first fatal error.
  const absl::Status& status() const { return status_; }
  // Call at the end: also an error if too many decisions were bad, or all.
  absl::Status Finish() const;

  ImportReport& report() { return report_; }
  const ImportReport& report() const { return report_; }
  CrossReferences& cross_references() { return *cross_references_; }
  uint64_t tuples() const { return report_.statistics.tuples(); }

 private:
  ImportSink(const config::v1::LogImportOptions& options, Repeated repeated,
             TimestampReader times, CrossReferences* cross_references,
             Take take);

  // Returns false if the decision is one of several with the same id, and is
  // not the one to be taken.
  bool IsTaken(const std::string& id, const InputPlace& place);

  bool skip_bad_;
  std::string id_prefix_;
  Repeated repeated_;
  TimestampReader times_;
  CrossReferences* cross_references_;
  Take take_;
  UndeclaredColumns columns_;  // Of the last tuple.
  ImportReport report_;
  uint64_t decisions_ = 0;  // Well-formed ones, with those of repeated ids.
  absl::Status status_;
};

}  // namespace sortition
