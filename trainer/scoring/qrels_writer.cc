#include "trainer/scoring/qrels_writer.h"

#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "trainer/scoring/trec_ids.h"

namespace sortition {

QrelsWriter::QrelsWriter(const std::string& path)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {}

absl::StatusOr<std::unique_ptr<QrelsWriter>> QrelsWriter::Create(
    const std::string& path) {
  auto writer = std::unique_ptr<QrelsWriter>(new QrelsWriter(path));
  if (!writer->file_) return PosixStatus(errno, path, "cannot write");
  return writer;
}

absl::Status QrelsWriter::Add(const StreamedQuery& query) {
  if (!query.has_labels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "query '", query.id, "' has no labels, must have them with --qrels"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, TrecIdsOf(query));
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    absl::StrAppend(&text, query.id, " 0 ", ids[i], " ", query.relevances[i],
                    "\n");
  }
  file_ << text;
  return absl::OkStatus();
}

absl::Status QrelsWriter::Close() {
  file_.close();
  if (file_) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path_, ": could not be written to its end"));
}

}  // namespace sortition
