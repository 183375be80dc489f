#include <limits>

#include "absl/strings/str_cat.h"
#include "client/logs/log_commands.h"
#include "client/logs/log_scan.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

constexpr char kLimitReached[] = "limit reached";

// Removes the features and returns a description of them.
std::string AbbreviateFeatures(log::v1::Decision* decision) {
  if (decision->has_columns()) {
    const std::string text = absl::StrCat(
        decision->columns().candidate_size(), " columns of ",
        decision->columns().num_candidates(), " candidates, ",
        decision->columns().query_size(), " of the query, left out");
    decision->clear_columns();
    return text;
  }
  const bool sparse = decision->has_sparse();
  decision->clear_dense_values();
  decision->clear_sparse();
  return absl::StrCat(sparse ? "sparse " : "dense ", decision->num_candidates(),
                      " x ", decision->num_features(), ", left out");
}

class Printer : public LogVisitor {
 public:
  Printer(bool abbreviate, uint64_t limit, std::ostream* out)
      : abbreviate_(abbreviate), left_(limit), out_(out) {}

  void BeginSegment(const std::string& path) override { segment_ = path; }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& frame) override {
    JsonWriter json;
    Begin(frame.offset, &json);
    const bool is_decision = record.has_decision() || record.has_tuple();
    if (abbreviate_ && is_decision) {
      log::v1::LogRecord copy = record;
      log::v1::Decision* decision =
          copy.has_tuple() ? copy.mutable_tuple()->mutable_decision()
                           : copy.mutable_decision();
      json.Key("features").String(AbbreviateFeatures(decision));
      json.Key("record").Raw(MessageJson(copy));
    } else {
      json.Key("record").Raw(MessageJson(record));
    }
    return Print(&json);
  }

  absl::Status Corrupt(uint64_t offset, uint64_t bytes) override {
    JsonWriter json;
    Begin(offset, &json);
    json.Key("corrupt_bytes").Count(bytes);
    return Print(&json);
  }

  absl::Status EndSegment(const SegmentEnd& end) override {
    if (end.torn_bytes == 0) return absl::OkStatus();
    JsonWriter json;
    Begin(end.bytes, &json);
    json.Key("torn_bytes").Count(end.torn_bytes).EndObject();
    *out_ << json.text() << "\n";
    return absl::OkStatus();
  }

 private:
  void Begin(uint64_t offset, JsonWriter* json) {
    json->BeginObject();
    json->Key("segment").String(segment_).Key("offset").Count(offset);
  }

  absl::Status Print(JsonWriter* json) {
    json->EndObject();
    *out_ << json->text() << "\n";
    if (!*out_ || --left_ == 0) return absl::CancelledError(kLimitReached);
    return absl::OkStatus();
  }

  const bool abbreviate_;
  uint64_t left_;
  std::ostream* const out_;
  std::string segment_;
};

}  // namespace

absl::Status RunLogCat(const config::v1::LogOptions& options,
                       const std::vector<std::string>& positional,
                       CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  Printer printer(options.output() == "text",
                  options.limit() == 0 ? std::numeric_limits<uint64_t>::max()
                                       : options.limit(),
                  &output->out);
  absl::Status status = ScanLog(positional, &printer);
  if (absl::IsCancelled(status)) return absl::OkStatus();
  return status;
}

}  // namespace sortition
