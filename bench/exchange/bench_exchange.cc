// Times log export and log import of every format on one core.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/exchange/exchange_logs.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "client/export/export_commands.h"
#include "client/import/import_commands.h"
#include "core/base/status_macros.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 5, "rounds of each measurement, in [1, 1000]");
ABSL_FLAG(std::string, only, "",
          "measure only what has this in its name, as in \"export, csv\"");

namespace sortition {
namespace {

constexpr double kExportRate = 200;
constexpr double kImportRate = 50;

double MegabytesOf(const std::string& path) {
  return 1e-6 * static_cast<double>(std::filesystem::file_size(path));
}

// Measures `run`, which reads or writes the file `path`, in MB of that file per
// second of CPU.
template <typename Run>
absl::Status Measure(const std::string& what, const std::string& path,
                     double required, Report* report, const Run& run) {
  if (!absl::StrContains(what, absl::GetFlag(FLAGS_only))) {
    return absl::OkStatus();
  }
  std::vector<double> rates;
  for (int round = -1; round < absl::GetFlag(FLAGS_rounds); ++round) {
    const double start = ProcessCpuSeconds();
    RETURN_IF_ERROR(run());
    const double seconds = ProcessCpuSeconds() - start;
    if (round >= 0) rates.push_back(MegabytesOf(path) / seconds);
  }
  const Spread rate = SpreadOf(rates);
  absl::PrintF("  %-36s %6.0f (%.0f - %.0f)  %.1f MB\n", what, rate.median,
               rate.lowest, rate.highest, MegabytesOf(path));
  report->targets.push_back(
      {absl::StrCat(what, ", MB/s"), rate.median, required, true});
  return absl::OkStatus();
}

absl::Status Export(const std::string& format, const std::string& tuples,
                    const std::string& path) {
  config::v1::LogExportOptions options;
  options.set_format(format);
  options.set_output(path);
  std::ostringstream ignored;
  CommandOutput output{ignored, ignored};
  return RunLogExport(options, {tuples}, &output);
}

absl::Status Import(config::v1::LogImportOptions options,
                    const std::string& path, const std::string& tuples) {
  options.set_tuples(tuples);
  options.set_force(true);
  std::ostringstream ignored;
  CommandOutput output{ignored, ignored};
  return RunLogImport(options, {path}, &output);
}

absl::Status MeasureShape(const LogShape& shape, const std::string& dir,
                          Report* report) {
  const std::string tuples = dir + "/" + shape.name;
  const std::string text = dir + "/text";
  RETURN_IF_ERROR(WriteTuples(shape, tuples));
  for (const std::string format :
       {"jsonl", "dsjson", "csv", "svmlight", "npz"}) {
    const auto run = [&] { return Export(format, tuples, text); };
    RETURN_IF_ERROR(Measure(absl::StrCat("export, ", format, ", ", shape.name),
                            text, kExportRate, report, run));
    if (format == "svmlight" || format == "npz") continue;
    RETURN_IF_ERROR(run());
    config::v1::LogImportOptions options;
    options.set_format(format);
    RETURN_IF_ERROR(Measure(
        absl::StrCat("import, ", format, ", ", shape.name), text, kImportRate,
        report, [&] { return Import(options, text, dir + "/imported"); }));
  }
  return absl::OkStatus();
}

absl::Status MeasureObd(const std::string& dir, Report* report) {
  constexpr int kLines = 30000;
  const std::string path = dir + "/obd.csv";
  RETURN_IF_ERROR(WriteObdFile(kLines, path));
  for (const uint32_t bits : {0, 20}) {
    config::v1::LogImportOptions options;
    options.set_format("obd");
    options.set_hash_bits(bits);
    RETURN_IF_ERROR(
        Measure(absl::StrCat("import, obd", bits > 0 ? ", hashed" : ""), path,
                kImportRate, report,
                [&] { return Import(options, path, dir + "/imported"); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<Report> Run() {
  const int rounds = absl::GetFlag(FLAGS_rounds);
  if (rounds < 1 || rounds > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rounds is ", rounds, ", must be in [1, 1000]"));
  }
  const TempDir directory;
  Report report;
  absl::PrintF("MB of the file that is written or read, per second of CPU\n");
  for (const LogShape& shape :
       {LogShape{"10x60", 10, 60, 4000}, LogShape{"4x3", 4, 3, 60000}}) {
    RETURN_IF_ERROR(MeasureShape(shape, directory.path(), &report));
  }
  RETURN_IF_ERROR(MeasureObd(directory.path(), &report));
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv, "Times log export and log import of every format.",
      sortition::Run);
}
