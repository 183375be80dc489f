#include <map>

#include "absl/strings/str_cat.h"
#include "client/export/export_commands.h"
#include "client/export/export_output.h"
#include "client/export/exporter.h"
#include "client/logs/log_scan.h"
#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"
#include "io/segments/seen_tuples.h"

namespace sortition {
namespace {

using config::v1::LogExportOptions;

// Returns why the options leave a tuple out; empty if they do not.
absl::string_view NotWanted(const LogExportOptions& options,
                            const log::v1::BanditTuple& tuple) {
  if (!options.model().empty() && tuple.decision().model() != options.model()) {
    return "another model";
  }
  if (tuple.censored_size() > 0 && !options.with_censored()) return "censored";
  return {};
}

// Shows the tuples of a log to an exporter, as long as it looks.
class SurveyVisitor : public LogVisitor {
 public:
  SurveyVisitor(const LogExportOptions& options, Exporter* exporter)
      : options_(options), exporter_(exporter) {}

  absl::Status Scan(const std::vector<std::string>& segments) {
    // Most exporters look at one tuple: that takes no time to be shown.
    only_first_ = true;
    const absl::Status first = ScanSegments(segments, this);
    if (!absl::IsCancelled(first)) return first;
    if (!wants_more_) return absl::OkStatus();
    only_first_ = false;
    return ScanSegments(segments, this, "looking for columns");
  }

  void BeginSegment(const std::string& /*path*/) override {}

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& /*frame*/) override {
    if (!record.has_tuple() || !NotWanted(options_, record.tuple()).empty()) {
      return absl::OkStatus();
    }
    wants_more_ = exporter_->Survey(record.tuple());
    return only_first_ || !wants_more_ ? absl::CancelledError()
                                       : absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status EndSegment(const SegmentEnd& /*end*/) override {
    return absl::OkStatus();
  }

 private:
  const LogExportOptions& options_;
  Exporter* const exporter_;
  bool only_first_ = false;
  bool wants_more_ = false;
};

// Gives the tuples of a log to an exporter, and counts.
class ExportVisitor : public LogVisitor {
 public:
  ExportVisitor(const LogExportOptions& options, Exporter* exporter,
                ExportOutput* output, const std::vector<std::string>& segments)
      : options_(options),
        exporter_(exporter),
        output_(output),
        seen_(segments) {}

  void BeginSegment(const std::string& path) override { segment_ = path; }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& frame) override {
    if (record.has_decision()) ++decisions_;
    if (record.has_incomplete() && !options_.allow_incomplete()) {
      return absl::FailedPreconditionError(absl::StrCat(
          segment_, " offset ", frame.offset, ": the log is incomplete (",
          record.incomplete().reason(),
          "), so tuples miss feedback; --allow_incomplete writes it anyway"));
    }
    if (record.has_footer()) torn_bytes_ += record.footer().torn_bytes();
    return record.has_tuple() ? Export(record.tuple()) : absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t, uint64_t) override {
    ++corrupt_;
    return absl::OkStatus();
  }

  absl::Status EndSegment(const SegmentEnd& end) override {
    torn_bytes_ += end.torn_bytes;
    return absl::OkStatus();
  }

  // NotFound where there was no tuple; FailedPrecondition if the format has no
  // place for the named columns that all usable tuples have.
  absl::Status CheckTuples(const std::vector<std::string>& paths) const {
    const auto columns = left_out_.find(std::string(kNamedColumns));
    if (exported_ == 0 && columns != left_out_.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "format is '", options_.format(), "', must be csv, dsjson or jsonl: ",
          columns->second, " tuples have named columns, which ",
          options_.format(), " cannot hold, and no others can be exported"));
    }
    if (exported_ > 0 || !left_out_.empty()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        paths[0], paths.size() > 1 ? " and what follows hold" : " holds",
        " no tuples",
        decisions_ > 0 ? ", but decisions: a spool, which the sidecar joins"
                       : ""));
  }

  std::string Summary() const {
    std::string text = absl::StrCat(exported_, " tuples exported");
    for (const auto& [reason, count] : left_out_) {
      absl::StrAppend(&text, "; ", count, " left out: ", reason);
    }
    if (corrupt_ > 0) {
      absl::StrAppend(&text, "; ", corrupt_, " corrupt records passed over");
    }
    if (torn_bytes_ > 0) {
      absl::StrAppend(&text, "; ", torn_bytes_,
                      " torn bytes at the ends of segments");
    }
    return text;
  }

 private:
  absl::Status Export(const log::v1::BanditTuple& tuple) {
    absl::string_view reason = seen_.Insert(tuple)
                                   ? NotWanted(options_, tuple)
                                   : "copies of tuples that were read before";
    if (reason.empty()) reason = exporter_->Add(tuple);
    if (reason.empty()) {
      ++exported_;
    } else {
      ++left_out_[std::string(reason)];
    }
    return output_ == nullptr ? absl::OkStatus() : output_->FlushIfLarge();
  }

  const LogExportOptions& options_;
  Exporter* const exporter_;
  ExportOutput* const output_;  // Null where the exporter writes itself.
  SeenTuples seen_;
  std::string segment_;
  uint64_t exported_ = 0;
  uint64_t decisions_ = 0;
  uint64_t corrupt_ = 0;
  uint64_t torn_bytes_ = 0;
  std::map<std::string, uint64_t> left_out_;
};

absl::Status CheckOptions(const LogExportOptions& options) {
  RETURN_IF_ERROR(CheckChoice("format", options.format(),
                              {"dsjson", "csv", "jsonl", "svmlight", "npz"}));
  RETURN_IF_ERROR(
      CheckChoice("rows", options.rows(), {"candidate", "decision"}));
  RETURN_IF_ERROR(
      CheckChoice("features", options.features(), {"auto", "dense", "sparse"}));
  if (options.format() == "npz" && options.output() == "-") {
    return UsageError("--output is \"-\", must be a file for npz");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Exporter>> MakeExporter(
    const LogExportOptions& options, ExportOutput* output) {
  if (output == nullptr) return MakeNpzExporter(options);
  std::string* const text = output->buffer();
  if (options.format() == "dsjson") return MakeDsjsonExporter(options, text);
  if (options.format() == "csv") return MakeCsvExporter(options, text);
  if (options.format() == "svmlight")
    return MakeSvmlightExporter(options, text);
  return MakeJsonlExporter(text);
}

}  // namespace

absl::Status RunLogExport(const LogExportOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<ExportOutput> text;
  if (options.format() != "npz") {
    ASSIGN_OR_RETURN(text, ExportOutput::Open(options.output(), &output->out));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Exporter> exporter,
                   MakeExporter(options, text.get()));
  ASSIGN_OR_RETURN(const std::vector<std::string> segments,
                   FindSegments(positional));
  SurveyVisitor survey(options, exporter.get());
  const absl::Status surveyed = survey.Scan(segments);
  if (!absl::IsCancelled(surveyed)) RETURN_IF_ERROR(surveyed);
  ExportVisitor visitor(options, exporter.get(), text.get(), segments);
  RETURN_IF_ERROR(ScanSegments(segments, &visitor, "reading tuples"));
  RETURN_IF_ERROR(visitor.CheckTuples(positional));
  RETURN_IF_ERROR(exporter->Finish());
  if (text != nullptr) RETURN_IF_ERROR(text->Publish());
  output->error << visitor.Summary() << "\n";
  return absl::OkStatus();
}

}  // namespace sortition
