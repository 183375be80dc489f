#include "process/status/status_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/shorten_text.h"
#include "google/protobuf/stubs/common.h"
#include "google/protobuf/util/json_util.h"
#include "process/process_stats.h"
#include "process/recent_warnings.h"
#include "process/version.h"

namespace sortition {

std::string Utf8Text(absl::string_view text) {
  std::string copy(text);
  if (google::protobuf::internal::IsStructurallyValidUTF8(
          copy.data(), static_cast<int>(copy.size()))) {
    return copy;
  }
  std::replace_if(
      copy.begin(), copy.end(),
      [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return copy;
}

std::string ShownText(absl::string_view text) {
  return Utf8Text(ShortenText(text, kKeptBytes));
}

void SetProcess(absl::string_view role, int64_t now_us,
                status::v1::Status* status) {
  const internal::ProcessStats stats = internal::ReadProcessStats();
  status::v1::Process& process = *status->mutable_process();
  process.set_role(std::string(role));
  process.set_version(std::string(Version()));
  process.set_start_time_us(
      static_cast<int64_t>(stats.start_time_seconds * 1e6));
  process.set_now_us(now_us);
  process.set_resident_bytes(static_cast<uint64_t>(stats.resident_bytes));
  process.set_cpu_seconds(stats.cpu_seconds);
  process.set_open_files(static_cast<uint32_t>(stats.open_descriptors));
  for (const RecentWarning& warning : RecentWarnings()) {
    status::v1::Warning& added = *status->add_warnings();
    added.set_time_us(warning.time_us);
    added.set_level(warning.level);
    added.set_message(Utf8Text(warning.message));
    added.set_details(Utf8Text(warning.details));
  }
}

std::string StatusJson(const status::v1::Status& status) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  CHECK(
      google::protobuf::util::MessageToJsonString(status, &text, options).ok());
  return text;
}

std::string WithHistory(std::string status_json, absl::string_view history) {
  if (history.empty()) return status_json;
  // There are fields before it: lists are printed also where they are empty.
  CHECK(status_json.size() > 2 && status_json.back() == '}');
  status_json.pop_back();
  absl::StrAppend(&status_json, ",\"history\":", history, "}");
  return status_json;
}

std::string JsonBeforeTheFirst(absl::string_view role, int64_t now_us) {
  constexpr char kWhy[] = "the figures are being made";
  status::v1::Status status;
  SetProcess(role, now_us, &status);
  if (role == "server") {
    status.mutable_server()->set_why_not_ready(kWhy);
  } else {
    status.mutable_sidecar()->set_problem(kWhy);
  }
  return StatusJson(status);
}

bool WantsHistory(absl::string_view query) {
  for (const absl::string_view part : absl::StrSplit(query, '&')) {
    if (part == "history=0") return false;
  }
  return true;
}

}  // namespace sortition
