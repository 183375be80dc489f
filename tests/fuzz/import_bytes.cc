#include "tests/fuzz/import_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/export/exporter.h"
#include "client/import/importer.h"
#include "core/base/check.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

using config::v1::LogImportOptions;

// Every type, and columns that may be absent.
constexpr char kSpec[] =
    "schema { "
    "column { name: 'price' type: NUMBER missing: true } "
    "column { name: 'color' type: CATEGORY missing: true } "
    "column { name: 'tags' type: CATEGORY_SET missing: true } "
    "column { name: 'title' type: TEXT missing: true } "
    "column { name: 'place' type: VECTOR size: 2 missing: true } "
    "column { name: 'city' type: CATEGORY scope: QUERY missing: true } }";

// Returns the path of a file in memory that has the declaration.
const std::string& SpecPath() {
  static const std::string* const path = [] {
    const int fd = memfd_create("spec", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(write(fd, kSpec, sizeof kSpec - 1) ==
          static_cast<ssize_t>(sizeof kSpec - 1));
    return new std::string(absl::StrCat("/proc/self/fd/", fd));
  }();
  return *path;
}

// Reads a file once and returns its tuples.
std::vector<log::v1::BanditTuple> ImportOnce(
    const LogImportOptions& options, const uint8_t* data, size_t size,
    CrossReferences* cross_references) {
  const int fd = memfd_create("import", MFD_CLOEXEC);
  CHECK(fd >= 0);
  CHECK(write(fd, data, size) == static_cast<ssize_t>(size));
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  InputLines lines(fd, "file",
                   options.format() == "csv" || options.format() == "obd");
  std::vector<log::v1::BanditTuple> tuples;
  auto sink = ImportSink::Create(options, cross_references,
                                 [&](const log::v1::LogRecord& record) {
                                   tuples.push_back(record.tuple());
                                   return absl::OkStatus();
                                 });
  CHECK(sink.ok());
  const auto importer = MakeImporter(options, &*sink);
  CHECK(importer.ok());
  const absl::Status status =
      ImportLines(&lines, "file", importer->get(), &*sink);
  CHECK(status.ok() || !status.message().empty());
  CHECK(sink->tuples() == tuples.size());
  CHECK(!ImportReportText(sink->report()).empty());
  CHECK(!ImportReportJson(sink->report()).empty());
  return tuples;
}

// Returns the tuples of a file with these bytes.
std::vector<log::v1::BanditTuple> Import(const LogImportOptions& options,
                                         const uint8_t* data, size_t size) {
  CrossReferences cross_references;
  std::vector<log::v1::BanditTuple> tuples =
      ImportOnce(options, data, size, &cross_references);
  while (cross_references.BeginNextPass()) {
    tuples = ImportOnce(options, data, size, &cross_references);
  }
  return tuples;
}

// Equal for equal tuples: otherwise the order of attributes is any.
std::string BytesOf(const log::v1::BanditTuple& tuple) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  CHECK(tuple.SerializeToCodedStream(&output));
  output.Trim();
  return bytes;
}

void CheckUsable(const log::v1::BanditTuple& tuple) {
  const log::v1::Decision& decision = tuple.decision();
  CHECK(!decision.decision_id().empty());
  CHECK(std::isfinite(tuple.reward()));
  CHECK(std::isfinite(decision.log_propensity()));
  CHECK(std::exp(decision.log_propensity()) <= 1 + 1e-8);
  const auto view = ViewDecision(decision);
  CHECK(view.ok());
  if (decision.action_kind() == log::v1::LABELS) return;
  for (const int32_t index : decision.action()) {
    CHECK(index == -1 ? decision.can_abstain()
                      : index < static_cast<int32_t>(view->num_candidates()) &&
                            view->is_eligible(static_cast<uint32_t>(index)));
  }
  // Every format can write it, or says why not.
  config::v1::LogExportOptions options;
  std::string text;
  const auto csv = MakeCsvExporter(options, &text);
  csv->Survey(tuple);
  csv->Add(tuple);
  MakeDsjsonExporter(options, &text)->Add(tuple);
  MakeSvmlightExporter(options, &text)->Add(tuple);
}

}  // namespace

void ImportBytes(const std::string& format, const uint8_t* data, size_t size) {
  if (size == 0) return;
  LogImportOptions options;
  options.set_format(format);
  options.set_skip_bad((data[0] & 1) != 0);
  if ((data[0] & 2) != 0) options.set_action("rank");
  if ((data[0] & 4) != 0) options.set_hash_bits(4);
  if ((data[0] & 8) != 0) options.set_num_features(3);
  if ((data[0] & 16) != 0) {
    options.set_rows("decision");
    options.set_num_actions(3);
  }
  if ((data[0] & 64) != 0) options.set_repeated_ids("last");
  if ((data[0] & 128) != 0) {
    options.set_repeated_ids("first");
    options.set_time_unit("s");
    options.set_delimiter(";");
  }
  if ((data[0] & 32) != 0 && format != "obd") {
    options.set_features(SpecPath());
    options.clear_hash_bits();
    options.clear_rows();
  }
  const std::vector<log::v1::BanditTuple> tuples =
      Import(options, data + 1, size - 1);
  std::string text;
  const auto exporter = MakeJsonlExporter(&text);
  for (const log::v1::BanditTuple& tuple : tuples) {
    CheckUsable(tuple);
    CHECK(exporter->Add(tuple).empty());
  }
  LogImportOptions back;
  back.set_format("jsonl");
  const std::vector<log::v1::BanditTuple> again =
      Import(back, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  CHECK(again.size() == tuples.size());
  for (size_t i = 0; i < tuples.size(); ++i) {
    CHECK(BytesOf(again[i]) == BytesOf(tuples[i]));
  }
}

}  // namespace sortition
