#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/import/import_commands.h"
#include "client/import/importer.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/models/text_message.h"
#include "io/segments/segment_batch.h"
#include "process/progress.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {
namespace {

using config::v1::LogImportOptions;

constexpr char kWriterId[] = "import";
constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Returns the size of all files; nothing where one has none, such as a pipe.
std::optional<uint64_t> InputBytes(const std::vector<std::string>& files) {
  uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
    bytes += std::filesystem::file_size(file, error);
    if (error) return std::nullopt;
  }
  return bytes;
}

absl::Status CheckOptions(const LogImportOptions& options) {
  RETURN_IF_ERROR(CheckChoice("format", options.format(),
                              {"dsjson", "csv", "jsonl", "obd"}));
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("rows", options.rows(), {"candidate", "decision"}));
  RETURN_IF_ERROR(CheckChoice("repeated_ids", options.repeated_ids(),
                              {"error", "first", "last"}));
  if (options.delimiter() != "tab" &&
      (options.delimiter().size() != 1 || options.delimiter() == "\"")) {
    return UsageError(
        absl::StrCat("--delimiter is '", options.delimiter(),
                     "', must be one character, not a quote, or tab"));
  }
  const auto times =
      TimestampReader::Create(options.time_zone(), options.time_unit());
  if (!times.ok()) return UsageError(times.status().message());
  return CheckChoice("action", options.action(), {"select", "rank"});
}

// Reads the schema of options.features(); null where that is not set.
absl::StatusOr<FileSchema> ReadSchema(const LogImportOptions& options) {
  if (options.features().empty()) return FileSchema();
  if (options.format() == "obd") {
    return UsageError("--features is for csv, jsonl and dsjson, not for obd");
  }
  if (options.hash_bits() > 0) {
    return UsageError("--features and --hash_bits: must be one of both");
  }
  if (options.rows() == "decision") {
    return UsageError(
        "--features needs a line for each candidate, not --rows=decision");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.features()));
  model::v1::FeatureSpec spec;
  RETURN_IF_ERROR(
      ParseUserMessage(options.features(), "a FeatureSpec", text, &spec));
  absl::StatusOr<Schema> schema = Schema::Create(spec.schema());
  if (!schema.ok()) {
    return absl::Status(
        schema.status().code(),
        absl::StrCat(options.features(), ": ", schema.status().message()));
  }
  return std::make_shared<const Schema>(*std::move(schema));
}

bool IsBlank(const InputLine& line) {
  return line.text().find_first_not_of(" \t") == absl::string_view::npos;
}

// The result of reading all files once.
struct ImportPass {
  std::unique_ptr<SegmentBatch> batch;  // Not published.
  ImportReport report;
  absl::Status outcome;  // Result of ImportSink::Finish().
};

absl::StatusOr<std::unique_ptr<SegmentBatch>> CreateBatch(
    const LogImportOptions& options) {
  // A sidecar's options name its tuples: this must not look like them.
  LogImportOptions recorded = options;
  recorded.clear_tuples();
  return SegmentBatch::Create({.dir = options.tuples(),
                               .writer_id = kWriterId,
                               .kind = log::v1::SegmentHeader::TUPLES,
                               .segment_bytes = options.segment_bytes(),
                               .options_text = recorded.ShortDebugString(),
                               .replace = options.force()});
}

absl::StatusOr<ImportPass> ReadFiles(const LogImportOptions& options,
                                     const std::vector<std::string>& files,
                                     CrossReferences* cross_references) {
  ASSIGN_OR_RETURN(std::unique_ptr<SegmentBatch> batch, CreateBatch(options));
  std::optional<Progress> progress;
  if (const auto bytes = InputBytes(files)) {
    progress.emplace(cross_references->is_applied() ? "joining" : "importing",
                     "MiB", *bytes / kMebibyte);
  }
  const InputLines* lines = nullptr;
  uint64_t reported = 0;  // Mebibytes of this file.
  const auto take = [&, batch = batch.get()](const log::v1::LogRecord& record) {
    const uint64_t mebibytes = lines->bytes_read() / kMebibyte;
    if (progress && mebibytes > reported) progress->Add(mebibytes - reported);
    reported = mebibytes;
    return batch->Append(record);
  };
  ASSIGN_OR_RETURN(ImportSink sink,
                   ImportSink::Create(options, cross_references, take));
  ASSIGN_OR_RETURN(const std::unique_ptr<Importer> importer,
                   MakeImporter(options, &sink));
  const bool quoted = options.format() == "csv" || options.format() == "obd";
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const auto open, InputLines::Open(file, quoted));
    lines = open.get();
    reported = 0;
    RETURN_IF_ERROR(ImportLines(open.get(), file, importer.get(), &sink));
  }
  if (progress) progress->Finish();
  absl::Status outcome = sink.Finish();
  return ImportPass{std::move(batch), std::move(sink.report()),
                    std::move(outcome)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Importer>> MakeImporter(
    const LogImportOptions& options, ImportSink* sink) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(FileSchema schema, ReadSchema(options));
  if (options.format() == "obd") return MakeObdImporter(options, sink);
  if (options.format() == "csv") {
    return MakeCsvImporter(options, std::move(schema), sink);
  }
  if (options.format() == "dsjson") {
    return MakeDsjsonImporter(options, std::move(schema), sink);
  }
  return MakeJsonlImporter(options, std::move(schema), sink);
}

absl::Status ImportLines(InputLines* lines, const std::string& name,
                         Importer* importer, ImportSink* sink) {
  InputLine line;
  importer->BeginFile();
  ImportReport::File file{.name = name};
  while (sink->status().ok()) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) break;
    file.lines = line.number + line.lines - 1;
    if (IsBlank(line)) {
      sink->report().left_out.Add("empty lines", {name, line.number});
      continue;
    }
    importer->Line(line, {name, line.number});
  }
  importer->EndFile();
  file.bytes = lines->bytes_read();
  sink->report().files.push_back(std::move(file));
  return sink->status();
}

absl::Status RunLogImport(const LogImportOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output) {
  RETURN_IF_ERROR(CheckOptions(options));
  CrossReferences cross_references;
  absl::StatusOr<ImportPass> pass =
      ReadFiles(options, positional, &cross_references);
  RETURN_IF_ERROR(pass.status());
  while (cross_references.BeginNextPass()) {
    if (!InputBytes(positional)) {
      return absl::InvalidArgumentError(
          "the input has rewards, activations or copies of decisions in lines "
          "of their own and must be read again; give files, not pipes");
    }
    pass->batch.reset();  // Before another one has the same place.
    pass = ReadFiles(options, positional, &cross_references);
    RETURN_IF_ERROR(pass.status());
  }
  RETURN_IF_ERROR(pass->outcome);
  RETURN_IF_ERROR(pass->batch->Publish());
  if (options.output() == "json") {
    output->out << ImportReportJson(pass->report) << "\n";
  } else {
    output->out << pass->report.statistics.tuples() << " tuples in "
                << options.tuples() << "\n"
                << ImportReportText(pass->report);
  }
  if (pass->report.bad > 0) {
    output->error << pass->report.bad
                  << " bad decisions passed over; the first: "
                  << pass->report.first_bad << "\n";
  }
  return absl::OkStatus();
}

}  // namespace sortition
