#pragma once
// Reads a tuple from each line of JSON.
#include "absl/status/status.h"
#include "client/import/importer.h"
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

 private:
  // Fills in the tuple, which is empty.
  virtual absl::Status Read(const JsonValue& object,
                            log::v1::BanditTuple* tuple) = 0;

  const config::v1::LogImportOptions& options_;
  ImportSink* const sink_;
  JsonLine json_;
  log::v1::LogRecord record_;
};

}  // namespace sortition
