#pragma once
// Reads a tuple from each line of JSON.
#include "absl/status/status.h"
#include "client/import/importer.h"
#include "core/base/hash.h"
#include "io/text/json_line.h"
#include "sortition/config/v1/log_files.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

class JsonImporter : public Importer {
 public:
  JsonImporter(const config::v1::LogImportOptions& options, ImportSink* sink)
      : options_(options), sink_(sink) {}

  void Line(const InputLine& line, const InputPlace& place) final;

 protected:
  const config::v1::LogImportOptions& options() const { return options_; }
  ImportSink& sink() { return *sink_; }
  ImportReport& report() { return sink_->report(); }
  // The line that is being read.
  const InputPlace& place() const { return place_; }

  // Sets the id of the decision, or one of file and line if `id` is null.
  absl::Status ReadId(const JsonValue* id, absl::string_view name,
                      log::v1::Decision* decision);
  void ReportUnusedKey(absl::string_view key);
  // Returns the error that an object has a key twice.
  static absl::Status Twice(absl::string_view key);

 private:
  // Fills in the tuple, which is empty. Returns false if the line is not a
  // decision to be taken, which the report then accounts for.
  virtual absl::StatusOr<bool> Read(const JsonValue& object,
                                    log::v1::BanditTuple* tuple) = 0;
  // Returns true, and accounts for the line, if it is not JSON and not meant to
  // be.
  virtual bool IsMarker(absl::string_view) { return false; }

  const config::v1::LogImportOptions& options_;
  ImportSink* const sink_;
  InputPlace place_;
  Hash128 line_hash_;  // Hash of the text of the line.
  JsonLine json_;
  log::v1::LogRecord record_;
};

}  // namespace sortition
