#include "trainer/report_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "trainer/report.h"

namespace sortition {

absl::Status CheckWritable(absl::string_view option, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is '", path, "', a directory, must be a file"));
  }
  const std::string probe = path + ".probe";
  RETURN_IF_ERROR(WriteFile(probe, ""));
  std::filesystem::remove(probe, ignored);
  return absl::OkStatus();
}

absl::Status WriteReport(const std::string& path,
                         const google::protobuf::Message& report) {
  if (path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
  return WriteFile(path, json);
}

}  // namespace sortition
