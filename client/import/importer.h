#pragma once
// A format that tuples are read from.
#include <memory>

#include "client/import/import_sink.h"
#include "core/features/schema/schema.h"
#include "io/text/input_lines.h"
#include "sortition/config/v1/log_files.pb.h"

namespace sortition {

class Importer {
 public:
  virtual ~Importer() = default;
  virtual void BeginFile() {}
  virtual void Line(const InputLine& line, const InputPlace& place) = 0;
  virtual void EndFile() {}
};

// The columns that a file has by name; null: it has numbered features.
using FileSchema = std::shared_ptr<const Schema>;

// Options and sink must outlive the importer.
std::unique_ptr<Importer> MakeJsonlImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink);
std::unique_ptr<Importer> MakeDsjsonImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink);
// Errors name the options or the file of the item context.
absl::StatusOr<std::unique_ptr<Importer>> MakeCsvImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink);
absl::StatusOr<std::unique_ptr<Importer>> MakeObdImporter(
    const config::v1::LogImportOptions& options, ImportSink* sink);

// The importer of options.format(), with the schema in options.features().
absl::StatusOr<std::unique_ptr<Importer>> MakeImporter(
    const config::v1::LogImportOptions& options, ImportSink* sink);

// Gives all lines of a file to the importer, until one is fatal, and adds the
// file to the sink's report.
absl::Status ImportLines(InputLines* lines, const std::string& name,
                         Importer* importer, ImportSink* sink);

}  // namespace sortition
